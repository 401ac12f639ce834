// Rules files beside a database: which of them a program reads, and what becomes of broken ones.

#include "source/rule_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "source/tuned_source.h"
#include "store/store.h"
#include "system/file_system.h"
#include "tests/helpers/replaced.h"
#include "tests/helpers/store_fixture.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class RuleFilesTest : public testing::Test {
 protected:
  RuleFilesTest() {
    const std::string path = source_path("tests/golden/rules/rmsnorm.add_forward.rules.json");
    content_ = file_content(path);
  }

  void write(const std::string& gpu, const std::string& content) const {
    const std::string folder = folder_.file("rules/" + gpu);
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/rmsnorm.add_forward.rules.json") << content;
  }
  RuleFiles::Loaded load() {
    RuleFiles files;
    files.add_folder(rules_folder_of(folder_.file("results.db")));
    return files.load(**catalog_.find_operator("rmsnorm.add_forward"));
  }

  const TestFolder folder_;
  Catalog catalog_{FileSystem::real()};
  std::string content_;
};

TEST_F(RuleFilesTest, LieBesideTheDatabaseOneOfEachGpu) {
  EXPECT_TRUE(load().rules.empty());
  write("a", content_);
  write("b", content_);
  write("c", replaced(content_, "NVIDIA H200", "NVIDIA H100"));
  const RuleFiles::Loaded loaded = load();
  ASSERT_EQ(loaded.rules.size(), 2U);
  EXPECT_EQ(loaded.rules[0].gpu.model, "NVIDIA H200");
  EXPECT_EQ(loaded.rules[1].gpu.model, "NVIDIA H100");
  EXPECT_TRUE(loaded.failures.empty());
  RuleFiles files;
  files.add_folder(folder_.file("rules"));
  EXPECT_THAT(files.operators(), ElementsAre("rmsnorm.add_forward"));
}

TEST_F(RuleFilesTest, ABrokenFileIsLeftOutWithItsName) {
  write("a", content_);
  write("b", "{");
  write("c", replaced(content_, "\"design\": \"", "\"design\": \"no"));
  const RuleFiles::Loaded loaded = load();
  EXPECT_EQ(loaded.rules.size(), 1U);
  EXPECT_THAT(loaded.failures, ElementsAre(HasSubstr("/b/"), HasSubstr("/c/")));
}

TEST_F(RuleFilesTest, AnEditedFileIsRefusedWithThePlace) {
  write("a", replaced(content_, "\"rank\": [", "\"rank\": [0, 0,"));
  write("b", replaced(content_, "\"bandwidth\": 4", "\"bandwidth\": -4"));
  const RuleFiles::Loaded loaded = load();
  EXPECT_TRUE(loaded.rules.empty());
  EXPECT_THAT(loaded.failures, ElementsAre(HasSubstr("variant 0 stands there twice"),
                                           HasSubstr("a bandwidth is not negative")));
}

TEST_F(RuleFilesTest, ThoseOfAPackHaveNoFile) {
  const Operator& op = **catalog_.find_operator("rmsnorm.add_forward");
  RuleFiles files;
  files.add_text("rmsnorm.add_forward", "here.mgpack", content_);
  files.add_text("rmsnorm.add_forward", "here.mgpack: its second rules", "{");
  EXPECT_FALSE(files.empty());
  const RuleFiles::Loaded loaded = files.load(op);
  ASSERT_EQ(loaded.rules.size(), 1U);
  EXPECT_THAT(loaded.texts, ElementsAre(content_));
  EXPECT_THAT(loaded.failures, ElementsAre(HasSubstr("its second rules")));
}

TEST_F(RuleFilesTest, EvidenceOfAnOperatorHasThem) {
  write("a", content_);
  { ASSERT_TRUE(Store::open(folder_.file("results.db"), Store::Mode::read_write).ok()); }
  TunedSource source = *read_tuned_source(folder_.file("results.db"), catalog_);
  const Binding binding = *bind_static(**catalog_.find_operator("rmsnorm.add_forward"),
                                       {{"hidden", "64"}, {"T", "bf16"}});
  const std::vector<DimRange> ranges(binding.op->dims.size(), {1, 65536});
  const auto rules = [&] {
    return (*evidence_for(binding, ranges, kH200Record, catalog_, source))->rules.size();
  };
  EXPECT_EQ(rules(), 1U);
  EXPECT_EQ(rules(), 1U) << "read once, there each time";
}

class FailuresTest : public StoreTest {
 protected:
  void add(const std::string& problem, Outcome outcome, GpuRecord gpu = kH200Record) {
    Store store = open();
    OutcomeRecord record = outcome_in(store, gpu);
    record.key.problem = *store.problem_id("rmsnorm.forward", problem, 1, 1);
    record.outcome = outcome;
    if (outcome != Outcome::ok) record.measurement.reset();
    ASSERT_TRUE(store.record(record).ok());
  }
  std::size_t failures(const std::string& op = "") { return open().failures(op)->size(); }
};

TEST_F(FailuresTest, CountUntilTheProblemFindsTheVariantRight) {
  add("rows=1", Outcome::ok);
  EXPECT_EQ(failures(), 0U);
  add("rows=2", Outcome::wrong);
  EXPECT_EQ(failures(), 1U);
  EXPECT_EQ(failures("rmsnorm.forward"), 1U);
  EXPECT_EQ(failures("swiglu.forward"), 0U);
  add("rows=1", Outcome::ok);
  EXPECT_EQ(failures(), 1U) << "of another problem";
  add("rows=3", Outcome::compile_failed);
  EXPECT_EQ(failures(), 1U);
  GpuRecord other_driver = kH200Record;
  other_driver.memory_bytes += 1;
  add("rows=2", Outcome::ok, other_driver);
  EXPECT_EQ(failures(), 0U);
}

}  // namespace
}  // namespace mgtune

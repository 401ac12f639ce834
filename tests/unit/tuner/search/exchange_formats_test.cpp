// What each format writes, against files that stand in tests/golden/exchange; tests/schema holds
// those against their schemas.

#include <gmock/gmock.h>

#include "core/gzip.h"
#include "exchange/formats.h"
#include "exchange/read_document.h"
#include "tests/helpers/exchange_fixture.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string golden(const std::string& name) {
  return FileSystem::real().read_file(source_path("tests/golden/exchange/") + name).value();
}

class ExchangeFormatsTest : public ExchangeTest {
 protected:
  void SetUp() override {
    ExchangeTest::SetUp();
    store_.emplace(open());
    fill(*store_);
  }

  std::vector<Document> exported_as(std::string_view name) { return exported(*store_, name); }

  std::optional<Store> store_;
};

std::vector<std::string> names(const std::vector<Document>& documents) {
  std::vector<std::string> names;
  for (const Document& document : documents) names.push_back(document.name);
  return names;
}

TEST_F(ExchangeFormatsTest, EveryFormatIsAsTheGoldenFiles) {
  for (const char* format : {"tuned", "kernel-tuner", "t4", "csv"}) {
    for (const Document& document : exported_as(format)) {
      EXPECT_EQ(document.content, golden(document.name)) << document.name;
    }
  }
}

TEST_F(ExchangeFormatsTest, DocumentsAreNamedByWhatTheyHold) {
  EXPECT_THAT(names(exported_as("tuned")), ElementsAre("nvidia-h200.pair.add.tuned.json"));
  EXPECT_THAT(names(exported_as("t4")),
              ElementsAre("nvidia-h200.pair.add.n=64-t=f32.rotating.t4.json",
                          "nvidia-h200.pair.add.n=1000-t=f32.graph.t4.json",
                          "nvidia-h200.pair.add.n=1000-t=f32.rotating.t4.json"));
  EXPECT_THAT(names(exported_as("kernel-tuner")),
              ElementsAre("nvidia-h200.pair.add.n=64-t=f32.rotating.cache.json",
                          "nvidia-h200.pair.add.n=1000-t=f32.graph.cache.json",
                          "nvidia-h200.pair.add.n=1000-t=f32.rotating.cache.json"));
  EXPECT_EQ(document_name({"../..", "a/b\\c\nd", "X"}), "-.-...a-b-c-d.x");
}

TEST_F(ExchangeFormatsTest, OneTableForAllOrOneForEachGpuAndOperator) {
  SweepRecord sweep;
  gpu_ = sweep.gpu = *store_->gpu_id(kCpuRecord);
  sweep.environment = *store_->environment_id(kEnvironment);
  sweep.started_at = "2026-11-22T10:00:00Z";
  sweep_ = *store_->begin_sweep(sweep);
  pick(*store_, big_, "flat THREADS=64 LOAD=bulk", 10, 20);
  EXPECT_EQ(exported(*store_, "tuned").size(), 1U);
  EXPECT_THAT(names(exported(*store_, "tuned", true)),
              ElementsAre("nvidia-h200.pair.add.tuned.json", "cpu.pair.add.tuned.json"));
}

TEST_F(ExchangeFormatsTest, SimulateReadsBothRecordingsAlike) {
  const auto space_of = [&](const char* format) {
    const std::string path = write("space.json", exported_as(format).back().content);
    return read_recorded_space(FileSystem::real(), path).value();
  };
  const RecordedSpace cache = space_of("kernel-tuner");
  const RecordedSpace t4 = space_of("t4");
  EXPECT_EQ(cache.size(), 6U);
  EXPECT_EQ(cache.times(), t4.times());
  ASSERT_EQ(cache.parameters().size(), 5U);
  EXPECT_EQ(cache.parameters()[0].name, "design");
  EXPECT_TRUE(cache.axes(0)[1].ordered);  // THREADS: what a design lacks did not make it words
}

TEST_F(ExchangeFormatsTest, ASelection) {
  const auto problems = [&](const Selection& selection) {
    std::vector<std::string> texts;
    const ExchangedResults results = collect_results(*store_, selection).value();
    for (const VariantRecording& recording : results.recordings) {
      texts.push_back(recording.problem + " " + recording.method);
    }
    return texts;
  };
  Selection selection;
  selection.method = "rotating";
  EXPECT_THAT(problems(selection), ElementsAre("n=64 T=f32 rotating", "n=1000 T=f32 rotating"));
  selection.problem = {{"n", "1000"}};
  EXPECT_THAT(problems(selection), ElementsAre("n=1000 T=f32 rotating"));
  selection.problem["causal"] = "false";  // what a text leaves out
  EXPECT_EQ(problems(selection).size(), 1U);
  selection.problem["causal"] = "true";
  EXPECT_TRUE(problems(selection).empty());
  selection = {};
  selection.wants_gpu = [](const GpuRecord& gpu) { return gpu.emulation; };
  EXPECT_TRUE(problems(selection).empty());
}

TEST_F(ExchangeFormatsTest, WhatTheOperatorDoesNotOfferAnyMoreIsLeftOut) {
  add(*store_, big_, "flat THREADS=16 LOAD=plain", Outcome::ok, 10);
  pick(*store_, big_, "old N=4", 10, 512.5);
  ExchangedResults results = collect_results(*store_, {}).value();
  const RemovedRows removed = remove_unusable(results, catalog_);
  EXPECT_EQ(removed.recorded, 1U);
  EXPECT_EQ(removed.tuned.count(), 1U);
  EXPECT_THAT(removed.sentences(),
              ElementsAre(AllOf(HasSubstr("1 tuned problem that the operators do not offer"),
                                HasSubstr("n=1000 T=f32 with old N=4")),
                          HasSubstr("1 recorded variant that the operators do not offer")));
  EXPECT_TRUE(remove_unusable(results, catalog_).sentences().empty());
  ASSERT_EQ(results.tables.size(), 1U);
  EXPECT_EQ(results.tables[0].picks.size(), 1U);
  // Whose operator nobody knows stays.
  Catalog empty(FileSystem::real());
  results = collect_results(*store_, {}).value();
  EXPECT_TRUE(remove_unusable(results, empty).sentences().empty());
}

TEST_F(ExchangeFormatsTest, NamesThatAFormatKeepsForItself) {
  add(*store_, small_, "flat time=3", Outcome::ok, 10);
  const ExchangedResults results = collect_results(*store_, {}).value();
  const auto written = format("kernel-tuner").write(results, false);
  EXPECT_EQ(written.status().code(), StatusCode::invalid_argument);
  EXPECT_THAT(written.status().message(), HasSubstr("pair.add has a parameter 'time'"));
  EXPECT_TRUE(format("t4").write(results, false).ok());
  add(*store_, small_, "flat design=3 gpu=4", Outcome::ok, 10);
  const ExchangedResults more = collect_results(*store_, {}).value();
  EXPECT_FALSE(format("t4").write(more, false).ok());
  EXPECT_THAT(format("csv").write(more, false)->front().content,
              AllOf(HasSubstr("gpu,arch,"), HasSubstr(",parameter_design,parameter_gpu,")));
}

TEST_F(ExchangeFormatsTest, NothingIsNoDocument) {
  for (const ExchangeFormat& format : exchange_formats()) {
    EXPECT_TRUE(format.write({}, false)->empty()) << format.name;
  }
}

TEST_F(ExchangeFormatsTest, CsvQuotesAsRfc4180) {
  OutcomeView view;
  view.variant = "a B=1";
  view.message = "line 1\n\"quoted\", and more";
  const std::string text = format("csv").write({{}, {}, {{view, {}}}, {}}, false)->front().content;
  EXPECT_THAT(text, HasSubstr(",\"line 1\n\"\"quoted\"\", and more\","));
}

TEST(Gzip, IsReproducibleAndReadBack) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += std::to_string(i * 7919 % 1000) + "\n";
  const std::string packed = gzip(text).value();
  EXPECT_EQ(gunzip(packed, 1 << 20).value(), text);
  EXPECT_EQ(gzip(text).value(), packed);
  EXPECT_LT(packed.size(), text.size());
  // No flags, no time, best compression, no system.
  EXPECT_EQ(packed.substr(0, 10), std::string("\x1f\x8b\x08\0\0\0\0\0\x02\xff", 10));
  EXPECT_EQ(gunzip(gzip("").value(), 10).value(), "");
}

}  // namespace
}  // namespace mgtune

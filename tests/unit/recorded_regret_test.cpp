// Selection at problems that it was not shown, over the sweeps that were recorded on an H200: what
// it loses against the best variant that is known there.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "core/file_system.h"
#include "dispatch/cross_validation.h"
#include "dispatch/variant_selection.h"
#include "exchange/read_results.h"
#include "family/catalog.h"
#include "store/store.h"
#include "tests/helpers/temporary_folder.h"
#include "tests/helpers/toy_operators.h"

namespace mgtune {
namespace {

// The twelve problems of results/h200/recorded in a store.
class RecordedRegret : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::string> paths;
    for (const auto& file :
         std::filesystem::directory_iterator(MGTUNE_SOURCE_DIR "/results/h200/recorded")) {
      if (file.path().filename().string().find("rmsnorm.forward.rows=") != std::string::npos) {
        paths.push_back(file.path());
      }
    }
    std::sort(paths.begin(), paths.end());
    ASSERT_EQ(paths.size(), 12U);
    Store store = must(Store::open(folder_.file("results.db"), Store::Mode::read_write));
    must(store.import_results(must(read_results(FileSystem::real(), paths, catalog_, "a test"))));
    op_ = must(catalog_.find_operator("rmsnorm.forward"));
    evidence_ = decode_evidence(*op_, {}, must(store.measured(op_->full_name())));
    ASSERT_EQ(evidence_.gpus.size(), 1U);
    device_ = device_of(evidence_.gpus.front());
  }

  TemporaryFolder folder_;
  Catalog catalog_{FileSystem::real()};
  const Operator* op_ = nullptr;
  Evidence evidence_;
  DeviceInfo device_;
};

TEST_F(RecordedRegret, StaysWithinThreePercentInTheMedianAndTenAtWorst) {
  EXPECT_EQ(evidence_.problems.size(), 12U);
  EXPECT_EQ(evidence_.rows.size(), 5515U);
  const std::vector<HeldOut> all = cross_validate(evidence_.problems.front(), device_, evidence_);
  ASSERT_EQ(all.size(), 12U);
  for (const HeldOut& one : all) {
    SCOPED_TRACE(fmt::format("{}: {:.1f} % {}", one.problem->text(), 100 * one.regret(),
                             variant_text(*op_, one.variant)));
    RecordProperty("regret", fmt::format("{}", one.regret()));
    EXPECT_LE(one.regret(), 0.10);
  }
  EXPECT_LE(median_regret(all), 0.03);
}

}  // namespace
}  // namespace mgtune

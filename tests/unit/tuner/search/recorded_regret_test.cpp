// Selection at problems that it was not shown, over the sweeps that were recorded on an H200: what
// it loses against the best variant that is known there.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "exchange/read_document.h"
#include "family/catalog.h"
#include "selection/cross_validation.h"
#include "selection/variant_selection.h"
#include "store/store.h"
#include "system/file_system.h"
#include "tests/helpers/operators/toy_operators.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

struct Recorded {
  const char* op;
  std::size_t problems, variants;
  double median, worst;  // what selection may lose
};

// An operator's problems of results/h200/recorded in a store.
class RecordedRegret : public testing::TestWithParam<Recorded> {
 protected:
  void SetUp() override {
    std::vector<std::string> paths;
    for (const auto& file : std::filesystem::directory_iterator(
             source_path("results/h200/recorded/" + std::string(GetParam().op)))) {
      paths.push_back(file.path());
    }
    std::sort(paths.begin(), paths.end());
    ASSERT_EQ(paths.size(), GetParam().problems);
    Store store = must(Store::open(folder_.file("results.db"), Store::Mode::read_write));
    must(store.import_results(must(read_results(FileSystem::real(), paths, catalog_, "a test"))));
    op_ = must(catalog_.find_operator(GetParam().op));
    evidence_ = decode_evidence(*op_, {}, must(store.measured(op_->full_name())));
    ASSERT_EQ(evidence_.gpus.size(), 1U);
    device_ = device_of(evidence_.gpus.front());
  }

  TestFolder folder_;
  Catalog catalog_{FileSystem::real()};
  const Operator* op_ = nullptr;
  Evidence evidence_;
  DeviceInfo device_;
};

TEST_P(RecordedRegret, StaysWithinWhatItMayLose) {
  EXPECT_EQ(evidence_.problems.size(), GetParam().problems);
  EXPECT_EQ(evidence_.rows.size(), GetParam().variants);
  const std::vector<HeldOut> all = cross_validate(evidence_.problems.front(), device_, evidence_);
  ASSERT_EQ(all.size(), GetParam().problems);
  for (const HeldOut& one : all) {
    SCOPED_TRACE(fmt::format("{}: {:.1f} % {}", one.problem->text(), 100 * one.regret(),
                             variant_text(*op_, one.variant)));
    RecordProperty("regret", fmt::format("{}", one.regret()));
    EXPECT_LE(one.regret(), GetParam().worst);
  }
  EXPECT_LE(median_regret(regrets(all)), GetParam().median);
}

// 3 % and 10 % are wanted, of every operator.
INSTANTIATE_TEST_SUITE_P(H200, RecordedRegret,
                         testing::Values(Recorded{"rmsnorm.forward", 16, 10893, 0.03, 0.10},
                                         Recorded{"rmsnorm.add_forward", 14, 9184, 0.03, 0.10},
                                         Recorded{"swiglu.forward", 4, 1216, 0.03, 0.10},
                                         Recorded{"rmsnorm.backward", 20, 21511, 0.03, 0.10}),
                         [](const auto& recorded) {
                           std::string name = recorded.param.op;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace mgtune

// The picks of gemm.forward that a plan finds in a database. All of its dims are free, so many
// picks have the size by which the index of picks is sorted, but are not near.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "selection/default_variants.h"
#include "selection/gpu_similarity.h"
#include "selection/near_ranges.h"
#include "selection/pick_key.h"
#include "source/tuned_source.h"
#include "store/store.h"
#include "tests/helpers/store_fixture.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

class PicksOfProductsTest : public testing::Test {
 protected:
  PicksOfProductsTest() {
    sweep_.gpu = kH200Record;
    sweep_.measured_at = "2026-11-27T20:00:00Z";
  }

  Problem product(int log_m, int log_n, int log_k) {
    const std::string words =
        fmt::format("m={} n={} k={} T=bf16", 1 << log_m, 1 << log_n, 1 << log_k);
    return *bind_problem(*gemm_, *parse_assignments(words));
  }

  void add_pick(const Problem& problem) {
    TunedView pick;
    pick.op = gemm_->full_name();
    pick.problem = problem.text();
    const DeviceLimits limits = device_of(kH200Record).limits;
    pick.tuned.variant = variant_text(
        *gemm_,
        default_variants(problem, default_ladder(problem.binding(), limits), limits).front());
    pick.tuned.method = "rotating";
    pick.tuned.median_ns = 2500;
    pick.tuned.key = key_of(problem);
    sweep_.picks.push_back(std::move(pick));
  }

  ImportedSweep sweep_;
  const TestFolder folder_;
  Catalog catalog_{FileSystem::real()};
  const Operator* const gemm_ = *catalog_.find_operator("gemm.forward");
};

TEST_F(PicksOfProductsTest, ThoseOfTheSameSizeDoNotHideTheNearOne) {
  const Problem wanted = product(6, 12, 12);
  for (int log_m = 0; log_m <= 14; ++log_m) {
    for (int log_n = 3; log_n <= 16; ++log_n) {
      const int log_k = 30 - log_m - log_n;
      if (log_k < 3 || log_k > 16) continue;
      const Problem other = product(log_m, log_n, log_k);
      EXPECT_EQ(key_of(other), key_of(wanted));
      if (other.slots != wanted.slots) add_pick(other);
    }
  }
  EXPECT_GT(sweep_.picks.size(), kMaxPicks);
  add_pick(wanted);
  const std::string path = folder_.file("results.db");
  ASSERT_TRUE(Store::open(path, Store::Mode::read_write)->import_results({sweep_}).ok());

  TunedSource source = *read_tuned_source(path, catalog_);
  const auto evidence =
      evidence_for(wanted.binding(), ranges_of(wanted), kH200Record, catalog_, source);
  ASSERT_TRUE(evidence.ok()) << evidence.status().message();
  const auto found = (*evidence)->tuned.all();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().problem.text(), wanted.text());
}

}  // namespace
}  // namespace mgtune

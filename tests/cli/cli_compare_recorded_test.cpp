// The error rates of `mgtune compare` for picks, on pairs of sweeps that are simulated from what an
// H200 recorded. Each picked variant has the samples of its final. A simulated sweep draws as many
// samples from them, with replacement, and shifts them all by the drift that
// results/h200/repeatability.txt shows between processes: the times of one pick spread by 0.33 to
// 0.93 % over 15 processes. A uniform shift over a width of 1 % is at least as wide as that. The
// seeds are fixed. This is no substitute for pairs of real sweeps
// (tests/gpu/compare_runs_test.cpp).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "compare/comparison.h"
#include "core/gzip.h"
#include "store/store.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_paths.h"
#include "timing/statistics.h"

namespace mgtune {
namespace {

constexpr int kPairs = 100;
constexpr double kDriftWidth = 0.01;

class RecordedPicksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const TestFolder folder;
    const std::string path = folder.file("recorded.db");
    std::ofstream(path) << gunzip(file_content(source_path("results/h200/recorded/showcase.db.gz")),
                                  100 << 20)
                               .value();
    Store store = Store::open(path, Store::Mode::read_only).value();
    finals_ = store.finals().value();
    picks_ = store.tuned().value();
    ASSERT_GE(finals_.size(), 3U);
  }

  // One simulated sweep: the row of each problem's pick. The pick `slowed` takes 3 % longer.
  MeasuredTable sweep(std::mt19937& random, std::size_t slowed) const {
    MeasuredTable table;
    for (std::size_t i = 0; i < finals_.size(); ++i) {
      const std::vector<double>& recorded = pick_of(finals_[i]).samples_ns;
      std::uniform_real_distribution<double> drift(-kDriftWidth / 2, kDriftWidth / 2);
      std::uniform_int_distribution<std::size_t> place(0, recorded.size() - 1);
      const double factor = (1 + drift(random)) * (i == slowed ? 1.03 : 1);
      std::vector<double> samples;
      for (std::size_t n = 0; n < recorded.size(); ++n) {
        samples.push_back(recorded[place(random)] * factor);
      }
      const SampleSummary summary = summarise(samples);
      MeasuredRow row;
      row.name = {finals_[i].op, finals_[i].problem, "pick", "NVIDIA H200", "", "rotating", false};
      row.time = {summary.median, summary.median_low, summary.median_high,
                  finals_[i].final.noise_floor};
      row.is_pick = true;
      table.rows.push_back(row);
    }
    return table;
  }

  std::vector<FinalView> finals_;

 private:
  const FinalistRecord& pick_of(const FinalView& view) const {
    for (const TunedView& pick : picks_) {
      if (pick.problem != view.problem) continue;
      for (const FinalistRecord& finalist : view.final.finalists) {
        if (finalist.variant == pick.tuned.variant) return finalist;
      }
    }
    ADD_FAILURE() << view.problem << " has no pick among its finalists";
    return view.final.finalists.front();
  }

  std::vector<TunedView> picks_;
};

TEST_F(RecordedPicksTest, TheSameCodeIsNeverCalledDifferent) {
  double largest = 0;
  for (int seed = 1; seed <= kPairs; ++seed) {
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    const MeasuredTable a = sweep(random, finals_.size());
    const MeasuredTable b = sweep(random, finals_.size());
    const Comparison comparison = compare_tables(a, b).value();
    EXPECT_EQ(comparison.count(Verdict::slower) + comparison.count(Verdict::faster), 0U) << seed;
    EXPECT_FALSE(comparison.has_regression());
    largest = std::max(largest, std::abs(comparison.worst()->difference.change));
  }
  EXPECT_GT(largest, 0.007) << "the simulated sweeps differ as recorded ones do";
}

TEST_F(RecordedPicksTest, APickThatTakesThreePercentLongerIsFound) {
  for (std::size_t slowed = 0; slowed < finals_.size(); ++slowed) {
    int found = 0;
    for (int seed = 1; seed <= kPairs; ++seed) {
      std::mt19937 random(static_cast<std::uint32_t>(seed));
      const MeasuredTable a = sweep(random, finals_.size());
      const MeasuredTable b = sweep(random, slowed);
      const Comparison comparison = compare_tables(a, b).value();
      const bool is_seen = comparison.worst()->a.name.problem == finals_[slowed].problem;
      found += comparison.has_regression() && is_seen ? 1 : 0;
      EXPECT_LE(comparison.count(Verdict::slower), 1U) << seed;
      EXPECT_EQ(comparison.count(Verdict::faster), 0U) << seed;
    }
    std::printf("%s, 3 %% slower: found in %d of %d pairs\n", finals_[slowed].problem.c_str(),
                found, kPairs);
    EXPECT_GE(found, 95) << finals_[slowed].problem;
  }
}

}  // namespace
}  // namespace mgtune

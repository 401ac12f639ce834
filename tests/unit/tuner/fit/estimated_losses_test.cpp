// What was not measured is estimated from what is near, well enough to choose the variants that a
// sweep for rules measures at all problems.

#include "fit/estimated_losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "fit/candidates.h"
#include "fit/representatives.h"
#include "selection/gpu_similarity.h"
#include "selection/rules.h"
#include "tests/helpers/operators/toy_operators.h"

namespace mgtune {
namespace {

// How much slower than the best variant each one is: it grows with the distance from the number of
// threads and the vector width that fit the problem, and these change with the rows.
double true_loss(std::int64_t rows, const Variant& variant) {
  const double octave = std::log2(static_cast<double>(rows));
  const double threads = std::clamp(4 + octave / 3, 5.0, 8.0);
  const double width = std::clamp(octave / 6, 0.0, 2.0);
  const double off = std::abs(std::log2(static_cast<double>(variant.values[0])) - threads) +
                     std::abs(std::log2(static_cast<double>(variant.values[1])) - width);
  return 0.1 * off;
}

class EstimatedLossesTest : public testing::Test {
 protected:
  // 24 problems. Each has times of four of the twelve variants: of its best one, as a search finds
  // it, and of others that differ from problem to problem.
  EstimatedLossesTest() {
    MeasuredRows measured;
    measured.gpus = {gpu_record(device_.info())};
    measured.drivers = {device_.info().driver};
    measured.methods = {"", "rotating"};
    for (const char* threads : {"32", "64", "128", "256"}) {
      for (const char* width : {"1", "2", "4"}) {
        measured.variants.push_back(std::string("row THREADS=") + threads + " VEC=" + width);
      }
    }
    for (std::uint32_t p = 0; p < 24; ++p) {
      const auto rows = static_cast<std::int64_t>(std::llround(4 * std::pow(1.5, p)));
      measured.problems.push_back(
          {op_.full_name(), "rows=" + std::to_string(rows) + " hidden=64 T=f32"});
      std::vector<std::uint32_t> tried = {p * 5 % 12, (p * 7 + 3) % 12, (p * 11 + 6) % 12};
      std::uint32_t best = 0;
      const auto loss = [&](std::uint32_t v) {
        return true_loss(rows, variant_of(op_, measured.variants[v]));
      };
      for (std::uint32_t v = 1; v < 12; ++v) best = loss(v) < loss(best) ? v : best;
      tried.push_back(best);
      std::ranges::sort(tried);
      tried.erase(std::unique(tried.begin(), tried.end()), tried.end());
      for (const std::uint32_t v : tried) {
        measured.rows.push_back({0, p, v, 1, 0, Outcome::ok, 1000 * (1 + loss(v))});
      }
    }
    data_ = must(read_fit_data(op_, gpu_record(device_.info()), measured));
  }

  double true_loss_at(std::size_t p, const Variant& variant) const {
    const std::int64_t rows = data_.problems[p].slots[std::size_t(op_.dims.front().slot)];
    double best = 1;
    for (std::size_t v = 0; v < data_.patterns.size(); ++v) {
      best = std::min(best, true_loss(rows, variant_at(p, data_.patterns[v])));
    }
    return (1 + true_loss(rows, variant)) / (1 + best) - 1;
  }

  Variant variant_at(std::size_t p, const VariantPattern& pattern) const {
    return *variant_of(pattern, data_.problems[p].binding(), device_.info().limits);
  }

  std::vector<VariantPattern> chosen_by(const LossTable& table, std::size_t count) const {
    std::vector<std::size_t> all(data_.problems.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::vector<VariantPattern> patterns;
    for (const std::size_t v : choose_representatives(table, all, count)) {
      patterns.push_back(data_.patterns[v]);
    }
    return patterns;
  }

  // The mean over the problems of the loss with the best of the patterns.
  double mean_loss(const std::vector<VariantPattern>& chosen) const {
    double total = 0;
    for (std::size_t p = 0; p < data_.problems.size(); ++p) {
      double best = 1;
      for (const VariantPattern& pattern : chosen) {
        best = std::min(best, true_loss_at(p, variant_at(p, pattern)));
      }
      total += best;
    }
    return total / static_cast<double>(data_.problems.size());
  }

  FakeDevice device_;
  const Operator op_ = toy_norm();
  FitData data_;
};

TEST_F(EstimatedLossesTest, WhatWasMeasuredStaysAndTheRestIsNearTheTruth) {
  const LossTable estimated = estimated_losses(data_);
  double off_before = 0, off = 0;
  std::size_t missing = 0;
  for (std::size_t p = 0; p < data_.problems.size(); ++p) {
    for (std::size_t v = 0; v < data_.patterns.size(); ++v) {
      if (data_.timed[p * data_.table.variants + v]) {
        EXPECT_EQ(estimated.loss(p, v), data_.table.loss(p, v));
        continue;
      }
      ++missing;
      const double truth = true_loss_at(p, variant_at(p, data_.patterns[v]));
      off += std::abs(estimated.loss(p, v) - truth);
      off_before += std::abs(data_.table.loss(p, v) - truth);
    }
  }
  ASSERT_GT(missing, data_.problems.size());
  EXPECT_LT(off / static_cast<double>(missing), 0.06);
  EXPECT_GT(off_before / static_cast<double>(missing), 0.2) << "what a missing time counts as";
}

TEST_F(EstimatedLossesTest, ChoosesFewVariantsThatAreGoodEverywhere) {
  for (const std::size_t count : {2, 3}) {
    const std::vector<VariantPattern> chosen = chosen_by(estimated_losses(data_), count);
    EXPECT_EQ(chosen.size(), count);
    EXPECT_LT(mean_loss(chosen), count == 2 ? 0.08 : 0.05);
  }
}

TEST_F(EstimatedLossesTest, MeasuresWhatRulesWouldNameAndThenWhatIsPromising) {
  const std::size_t per_problem = 3;
  const Candidates candidates = choose_candidates(data_, 12, per_problem);
  const LossTable estimated = estimated_losses(data_);
  std::set<std::string> named;
  for (const VariantPattern& pattern : chosen_by(data_.table, kMaxRuleVariants)) {
    named.insert(pattern_text(op_, pattern));
  }
  std::size_t wanted = 0;
  for (std::size_t p = 0; p < data_.problems.size(); ++p) {
    const std::vector<const VariantPattern*> here = candidates.at(data_.problems[p]);
    EXPECT_LE(here.size(), per_problem);
    wanted += here.size();
    std::pair<bool, double> before{false, 0};  // whether it is none of those that rules would name
    for (const VariantPattern* pattern : here) {
      const std::string text = pattern_text(op_, *pattern);
      const auto is_it = [&](const VariantPattern& other) {
        return pattern_text(op_, other) == text;
      };
      const auto v =
          std::size_t(std::ranges::find_if(data_.patterns, is_it) - data_.patterns.begin());
      EXPECT_FALSE(data_.timed[p * data_.table.variants + v]);
      const std::pair<bool, double> now{!named.contains(text), estimated.loss(p, v)};
      EXPECT_GE(now, before) << "the most promising one comes first";
      before = now;
    }
  }
  EXPECT_GT(wanted, data_.problems.size());
  const Problem unknown =
      must(bind_problem(op_, must(parse_assignments("rows=4,hidden=128,T=f32"))));
  EXPECT_EQ(candidates.at(unknown).size(), candidates.patterns.size());
}

TEST_F(EstimatedLossesTest, OtherDtypesSayNothing) {
  FitData other = data_;
  other.problems.front() =
      must(bind_problem(op_, must(parse_assignments("rows=4,hidden=64,T=bf16"))));
  const LossTable estimated = estimated_losses(other);
  for (std::size_t v = 0; v < other.patterns.size(); ++v) {
    if (other.timed[v] || !other.table.serves(0, v)) continue;
    // Only its own few times are left, and those of other variants are not near.
    EXPECT_NE(estimated.loss(0, v), estimated_losses(data_).loss(0, v));
  }
}

}  // namespace
}  // namespace mgtune

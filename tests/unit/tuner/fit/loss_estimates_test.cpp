// What was not measured is estimated well enough to choose the variants that rules name, and those
// that a sweep for rules measures at all problems.

#include "fit/loss_estimates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "fit/candidates.h"
#include "fit/choices.h"
#include "fit/representatives.h"
#include "selection/gpu_similarity.h"
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

class LossEstimatesTest : public testing::Test {
 protected:
  // 24 problems. Each has times of four of the twelve variants: of its best one, as a search finds
  // it, and of others that differ from problem to problem.
  LossEstimatesTest() {
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
    const std::int64_t rows = data_.measured[p].problem.slots[std::size_t(op_.dims.front().slot)];
    double best = 1;
    for (const VariantPattern& pattern : data_.patterns) {
      best = std::min(best, true_loss(rows, variant_at(p, pattern)));
    }
    return (1 + true_loss(rows, variant)) / (1 + best) - 1;
  }

  std::vector<ProblemChoices> choices() const {
    std::vector<ProblemChoices> all;
    for (std::size_t p = 0; p < data_.measured.size(); ++p) all.push_back(choices_at(data_, p));
    return all;
  }

  // The loss of each pattern at each problem, estimated where it was not measured.
  LossTable estimated() const { return table_of(choices(), estimates_of(data_)); }

  Variant variant_at(std::size_t p, const VariantPattern& pattern) const {
    return *variant_of(pattern, data_.measured[p].problem.binding(), device_.info().limits);
  }

  std::vector<VariantPattern> chosen_by(const LossTable& table, std::size_t count) const {
    std::vector<std::size_t> all(data_.measured.size());
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
    for (std::size_t p = 0; p < data_.measured.size(); ++p) {
      double best = 1;
      for (const VariantPattern& pattern : chosen) {
        best = std::min(best, true_loss_at(p, variant_at(p, pattern)));
      }
      total += best;
    }
    return total / static_cast<double>(data_.measured.size());
  }

  FakeDevice device_;
  const Operator op_ = toy_norm();
  FitData data_;
};

TEST_F(LossEstimatesTest, WhatWasMeasuredStaysAndTheRestIsNearTheTruth) {
  const LossTable table = estimated();
  const std::vector<ProblemChoices> all = choices();
  double off = 0;
  std::size_t missing = 0;
  for (std::size_t p = 0; p < all.size(); ++p) {
    for (std::size_t v = 0; v < data_.patterns.size(); ++v) {
      const double truth = true_loss_at(p, variant_at(p, data_.patterns[v]));
      if (all[p].measured[all[p].of_pattern[v].value()]) {
        EXPECT_NEAR(table.loss(p, v), truth, 1e-6);
        continue;
      }
      ++missing;
      off += std::abs(table.loss(p, v) - truth);
    }
  }
  ASSERT_GT(missing, all.size());
  EXPECT_LT(off / static_cast<double>(missing), 0.06);
}

TEST_F(LossEstimatesTest, ChoosesFewVariantsThatAreGoodEverywhere) {
  for (const std::size_t count : {2, 3}) {
    const std::vector<VariantPattern> chosen = chosen_by(estimated(), count);
    EXPECT_EQ(chosen.size(), count);
    EXPECT_LT(mean_loss(chosen), count == 2 ? 0.08 : 0.05);
  }
}

TEST_F(LossEstimatesTest, ASweepMeasuresWhatIsPromisingAndHasNoTime) {
  const std::size_t per_problem = 3;
  const Candidates candidates = choose_candidates(data_, 12, per_problem);
  const LossTable table = estimated();
  const std::vector<ProblemChoices> all = choices();
  std::size_t wanted = 0;
  for (std::size_t p = 0; p < all.size(); ++p) {
    const std::vector<const VariantPattern*> here = candidates.at(all[p].problem);
    EXPECT_LE(here.size(), per_problem);
    wanted += here.size();
    float before = 0;
    for (const VariantPattern* pattern : here) {
      const std::string text = pattern_text(op_, *pattern);
      const auto is_it = [&](const VariantPattern& other) {
        return pattern_text(op_, other) == text;
      };
      const auto v =
          std::size_t(std::ranges::find_if(data_.patterns, is_it) - data_.patterns.begin());
      EXPECT_FALSE(all[p].measured[all[p].of_pattern[v].value()]);
      EXPECT_GE(table.loss(p, v), before) << "the most promising one comes first";
      before = table.loss(p, v);
    }
  }
  EXPECT_GT(wanted, all.size());
  const Problem unknown =
      must(bind_problem(op_, must(parse_assignments("rows=4,hidden=128,T=f32"))));
  EXPECT_EQ(candidates.at(unknown).size(), candidates.patterns.size());
}

TEST_F(LossEstimatesTest, OfAnyProblemLieBetweenThoseOfItsNeighbours) {
  const Problem between =
      must(bind_problem(op_, must(parse_assignments("rows=700,hidden=64,T=f32"))));
  const ProblemChoices here = choices_at(data_, between);
  const std::vector<float> losses = estimates_of(data_).at(between, here.serving);
  ASSERT_EQ(losses.size(), here.serving.size());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const Variant& variant = data_.variants->at(here.serving[i].number);
    EXPECT_NEAR(losses[i], true_loss(700, variant), 0.15) << variant_text(op_, variant);
    EXPECT_FALSE(here.measured[i]);
  }
}

}  // namespace
}  // namespace mgtune

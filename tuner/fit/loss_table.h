// LossTable: says how much slower than the fastest variant each variant is at each problem. Rules
// are fitted to it. Its columns are patterns (family/variant_pattern.h); a pattern can stand for a
// different variant at each problem. The default ladder comes after the patterns, so that rules
// change its choice only where another variant is better. Plain data and pure functions.

#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "selection/rules.h"

namespace mgtune {

struct LossTable {
  std::size_t variants = 0;   // columns
  std::vector<float> losses;  // problem by problem; NaN: the variant cannot serve the problem
  std::vector<float> ladder;  // of each problem: the loss of the default ladder

  std::size_t problems() const { return ladder.size(); }
  std::size_t place_of_ladder() const { return variants; }
  float loss(std::size_t problem, std::size_t variant) const {
    if (variant == place_of_ladder()) return ladder[problem];
    return losses[problem * variants + variant];
  }
  bool serves(std::size_t problem, std::size_t variant) const {
    return !std::isnan(loss(problem, variant));
  }
  // The ladder serves the problems that the variant cannot.
  float loss_or_ladder(std::size_t problem, std::size_t variant) const {
    return serves(problem, variant) ? loss(problem, variant) : ladder[problem];
  }
};

// What a fit minimizes instead of the loss, so that a few large losses count more than many small
// ones: a loss of 1 % counts as 1.04 %, one of 10 % as 14 %, one of 50 % as 150 %.
inline double cost_of(double loss) { return loss * (1 + 4 * loss); }

// The loss of the first variant of `ranking` that can serve the problem; the ladder's if none can.
double loss_of_ranking(const LossTable& table, std::size_t problem,
                       std::span<const std::size_t> ranking);

LossSummary summary_of(std::vector<double> losses);

}  // namespace mgtune

// LossTable: how much slower than the fastest variant the variants are at each problem, from which
// rules are fitted. Its columns are patterns (family/variant_pattern.h), which are another variant
// at each problem. Behind them stands the default ladder, so that rules change its choice only
// where another variant is better. Plain data and pure functions.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "family/problem.h"
#include "family/variant_pattern.h"
#include "selection/rules.h"
#include "store/records.h"
#include "store/views.h"

namespace mgtune {

// A variant that was not measured at a problem counts as this much slower there: rules should not
// depend on it, and a fit still works if a search visited different variants at each problem.
inline constexpr double kUnmeasuredLoss = 0.5;

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

// The measurements of an operator on a GPU.
struct FitData {
  const Operator* op = nullptr;
  GpuRecord gpu;
  std::vector<Problem> problems;  // sorted by text
  // Sorted by text, the columns of the table: the rungs of the default ladder, and those that are
  // nearly the fastest somewhere.
  std::vector<VariantPattern> patterns;
  LossTable table;
  std::vector<bool> timed;       // as the table's losses: whether the variant has a time there
  std::size_t measurements = 0;  // times that were used
  // Of each problem, the loss of every variant that has a time there, by text.
  std::vector<std::map<std::string, float>> measured;

  // The patterns of a ranking, which ends where it leaves the choice to the ladder.
  std::span<const std::size_t> before_ladder(std::span<const std::size_t> ranking) const {
    const auto ladder = std::ranges::find(ranking, table.place_of_ladder());
    return {ranking.begin(), ladder};
  }
};

// Reads the problems that have at least two timed variants. Of the methods of a problem, one
// counts, as for tuned rows. A variant that failed on the GPU at any problem is left out, and so is
// the pattern that it is there.
// not_found, with what to do, if fewer than three problems are left.
Result<FitData> read_fit_data(const Operator& op, const GpuRecord& gpu,
                              const MeasuredRows& measured);

}  // namespace mgtune

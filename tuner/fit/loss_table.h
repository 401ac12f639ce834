// LossTable: says how much slower than the fastest variant each variant is at each problem. Rules
// are fitted to it. Its columns are patterns (family/variant_pattern.h); a pattern can stand for a
// different variant at each problem. The default ladder comes after the patterns, so that rules
// change its choice only where another variant is better. Plain data and pure functions.

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
  // The columns of the table, sorted by text: the rungs of the default ladder, and patterns of
  // variants that are within 25 % of the fastest at some problem.
  std::vector<VariantPattern> patterns;
  LossTable table;
  std::vector<bool> timed;       // indexed like the table's losses: whether there is a time
  std::size_t measurements = 0;  // times that were used
  // For each problem: the loss of every variant that has a time there, by the variant's text.
  std::vector<std::map<std::string, float>> measured;

  // The patterns of a ranking that come before the ladder. Behind the ladder, a ranking has no
  // effect.
  std::span<const std::size_t> before_ladder(std::span<const std::size_t> ranking) const {
    const auto ladder = std::ranges::find(ranking, table.place_of_ladder());
    return {ranking.begin(), ladder};
  }
};

// Reads the problems that have at least two timed variants. If a problem was timed by several
// methods, only one of them counts, as for tuned rows. If a variant failed on the GPU at any
// problem, the variant is left out, and so is every pattern that stands for it at a problem where
// it has a result. If fewer than three problems are left: not_found, with a message that says what
// to do.
Result<FitData> read_fit_data(const Operator& op, const GpuRecord& gpu,
                              const MeasuredRows& measured);

}  // namespace mgtune

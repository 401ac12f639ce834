// FitData: the measurements of an operator on a GPU, as a fit of rules reads them: how much slower
// than the fastest variant of its problem each variant was, and the patterns that rules may name.
// Plain data and a pure function.

#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "family/variant_pattern.h"
#include "fit/loss_estimates.h"
#include "store/records.h"
#include "store/views.h"

namespace mgtune {

struct FitData {
  const Operator* op = nullptr;
  GpuRecord gpu;
  std::vector<MeasuredLosses> measured;  // sorted by the problems' texts
  std::size_t measurements = 0;          // times that were used

  // The variants that were measured, which the numbers in `measured` mean. A fit adds others.
  std::shared_ptr<NearVariants> variants;

  // Sorted by text: the rungs of the default ladder, and patterns of variants that are within 25 %
  // of the fastest at some problem.
  std::vector<VariantPattern> patterns;

  // The texts of variants that failed on the GPU at any problem. Rules never name them.
  std::set<std::string> failed;
  // For each problem: the texts of variants that have a result there, but no time.
  std::vector<std::set<std::string>> without_time;

  // The patterns of a ranking that come before the ladder. Behind the ladder, a ranking has no
  // effect.
  std::span<const std::size_t> before_ladder(std::span<const std::size_t> ranking) const {
    const auto ladder = std::ranges::find(ranking, patterns.size());
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

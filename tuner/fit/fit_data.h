// FitData: the measurements of an operator on a GPU, as a fit of rules reads them: how much slower
// than the fastest variant of its problem each variant was, and the patterns that rules may name.
// One thread: whoever asks for the choices of a problem adds variants to `variants`, which copies
// share.

#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
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

  // ServingVariant::number in `measured` is a number in this list.
  std::shared_ptr<NearVariants> variants;

  // Sorted by text: the rungs of the default ladder, and patterns of variants that are within 25 %
  // of the fastest at some problem. At most 600.
  std::vector<VariantPattern> patterns;

  // The texts of variants that failed on the GPU at any problem.
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

// Rules are not fitted to fewer problems.
inline constexpr std::size_t kFewestProblems = 3;

// Reads the problems that have at least two variants with a time, of those that can serve them. If
// a problem was timed by several methods, only one of them counts, as for tuned rows. If a variant
// failed on the GPU at any problem, its times do not count. not_found if no problem is left.
Result<FitData> read_fit_data(const Operator& op, const GpuRecord& gpu,
                              const MeasuredRows& measured);

}  // namespace mgtune

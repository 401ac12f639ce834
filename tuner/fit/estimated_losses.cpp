#include "fit/estimated_losses.h"

#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "family/variant_pattern.h"
#include "selection/evidence.h"
#include "selection/gpu_similarity.h"

namespace mgtune {
namespace {

// Distances at which a weight is 1/e. In recorded sweeps of rmsnorm.forward and swiglu.forward,
// these two distances predict a time that was left out best: within 11 % and 7 % (root mean square,
// for times within 25 % of the fastest). Distances that are half or twice as large are worse.
constexpr double kProblemScale = 1;    // factors of two, summed over the dims
constexpr double kVariantScale = 0.4;  // steps, summed over the parameters

// The weight of kUnmeasuredLoss, so that an estimate from far away says little.
constexpr double kPriorWeight = 0.01;

// A smaller weight cannot move an estimate by a thousandth.
constexpr double kLeastWeight = 1e-6;

double problem_weight(const Operator& op, const Problem& a, const Problem& b) {
  if (!same_dtypes_and_flags(op, a.slots, b.slots)) return 0;
  double distance = 0;
  for (const Dim& dim : op.dims) {
    if (dim.fallback) continue;
    const auto slot = std::size_t(dim.slot);
    distance += std::abs(log_extent(a.slots[slot]) - log_extent(b.slots[slot]));
  }
  return std::exp(-distance / kProblemScale);
}

double variant_weight(const Operator& op, const std::optional<Variant>& first,
                      const std::optional<Variant>& second) {
  if (!first || !second || first->design != second->design) return 0;
  const Variant &a = *first, &b = *second;
  const std::vector<Parameter>& parameters = op.designs[std::size_t(a.design)].params;
  double distance = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (a.values[i] == b.values[i]) continue;
    const bool is_number = parameters[i].type == ValueType::integer;
    distance +=
        is_number
            ? std::min(1.0, std::abs(log_extent(a.values[i] + 1) - log_extent(b.values[i] + 1)))
            : 1;
  }
  return std::exp(-distance / kVariantScale);
}

}  // namespace

LossTable estimated_losses(const FitData& data) {
  const std::size_t problems = data.problems.size(), variants = data.table.variants;
  const DeviceLimits limits = device_of(data.gpu).limits;
  LossTable table = data.table;
  std::vector<double> sums(variants), weights(variants);
  for (std::size_t p = 0; p < problems; ++p) {
    // For each variant that was measured anywhere: the weighted losses at near problems.
    std::ranges::fill(sums, 0);
    std::ranges::fill(weights, 0);
    for (std::size_t other = 0; other < problems; ++other) {
      const double weight = problem_weight(*data.op, data.problems[p], data.problems[other]);
      if (weight < kLeastWeight) continue;
      for (std::size_t v = 0; v < variants; ++v) {
        if (!data.timed[other * variants + v]) continue;
        sums[v] += weight * static_cast<double>(data.table.loss(other, v));
        weights[v] += weight;
      }
    }
    std::vector<std::optional<Variant>> here;  // the patterns' variants at this problem
    for (const VariantPattern& pattern : data.patterns) {
      here.push_back(variant_of(pattern, data.problems[p].binding(), limits));
    }
    for (std::size_t v = 0; v < variants; ++v) {
      const std::size_t place = p * variants + v;
      if (data.timed[place] || !data.table.serves(p, v)) continue;
      double sum = kPriorWeight * kUnmeasuredLoss, weight = kPriorWeight;
      for (std::size_t other = 0; other < variants; ++other) {
        if (weights[other] == 0) continue;
        const double near = variant_weight(*data.op, here[v], here[other]);
        if (near < kLeastWeight) continue;
        sum += near * sums[other];
        weight += near * weights[other];
      }
      table.losses[place] = static_cast<float>(sum / weight);
    }
  }
  return table;
}

}  // namespace mgtune

#include "fit/loss_estimates.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "selection/gpu_similarity.h"
#include "selection/picks.h"

namespace mgtune {
namespace {

// The distance between problems, in factors of two summed over the dims, at which a weight is 1/e.
constexpr double kProblemScale = 1;

// The weight of kUnmeasuredLoss, so that an estimate from far away says little.
constexpr float kPriorWeight = 0.01F;

// Problems with a smaller weight are left out.
constexpr double kLeastWeight = 1e-6;

float problem_weight(const Problem& a, const Problem& b) {
  const Operator& op = *a.op;
  if (!same_dtypes_and_flags(op, a.slots, b.slots)) return 0;
  double distance = 0;
  for (const Dim& dim : op.dims) {
    if (dim.fallback) continue;
    const auto slot = std::size_t(dim.slot);
    distance += std::abs(log_extent(a.slots[slot]) - log_extent(b.slots[slot]));
  }
  const double weight = std::exp(-distance / kProblemScale);
  return weight < kLeastWeight ? 0 : static_cast<float>(weight);
}

// Trees learn log(1 + loss), so that ratios of times count, not differences.
BoostedTrees trees_of(std::span<const MeasuredLosses* const> measured) {
  std::vector<float> features, wanted;
  for (const MeasuredLosses* of : measured) {
    for (const MeasuredLosses::One& one : of->losses) {
      features.insert(features.end(), one.variant.features.begin(), one.variant.features.end());
      wanted.push_back(std::log1p(one.loss));
    }
  }
  return {features, wanted};
}

}  // namespace

LossEstimates::LossEstimates(std::span<const MeasuredLosses* const> measured,
                             NearVariants& variants)
    : measured_(measured.begin(), measured.end()), variants_(variants), trees_(trees_of(measured)) {
  variants.find_near();
}

std::vector<float> LossEstimates::at(const Problem& problem,
                                     std::span<const ServingVariant> serving) const {
  // For each variant that was measured anywhere: the weighted losses at near problems.
  std::vector<float> sums(variants_.size(), 0), weights(variants_.size(), 0);
  for (const MeasuredLosses* of : measured_) {
    const float weight = problem_weight(problem, of->problem);
    if (weight == 0) continue;
    for (const MeasuredLosses::One& one : of->losses) {
      sums[one.variant.number] += weight * one.loss;
      weights[one.variant.number] += weight;
    }
  }
  std::vector<float> losses;
  for (const ServingVariant& variant : serving) {
    float sum = kPriorWeight * static_cast<float>(kUnmeasuredLoss), weight = kPriorWeight;
    for (const NearVariants::Near& near : variants_.near(variant.number)) {
      sum += near.weight * sums[near.variant];
      weight += near.weight * weights[near.variant];
    }
    const float of_trees = std::max(std::expm1(trees_.predict(variant.features)), 0.0F);
    losses.push_back((sum / weight + of_trees) / 2);
  }
  return losses;
}

}  // namespace mgtune

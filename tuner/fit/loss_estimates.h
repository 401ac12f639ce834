// Estimates how much slower than the fastest variant others are at problems where they were not
// measured, from the losses that were measured. An estimate is the mean of two: of what boosted
// trees predict from the features of variant and problem, and of a weighted mean of the losses of
// similar variants at similar problems. In a prototype on recorded sweeps of rmsnorm and swiglu,
// rules from the mean of both lost less at held-out problems than rules from either in six of ten
// cases, and never more than both. Any number of threads may ask one.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "family/problem.h"
#include "fit/boosted_trees.h"
#include "fit/near_variants.h"

namespace mgtune {

// What a variant of which nothing is known is expected to lose. A search visits the variants that
// are likely to be fast, so others are rather slow.
inline constexpr double kUnmeasuredLoss = 0.5;

// A variant that can serve a problem.
struct ServingVariant {
  std::uint32_t number = 0;     // in a NearVariants
  std::vector<float> features;  // of the variant at this problem (fit/variant_features.h)
};

// The losses of a problem that were measured.
struct MeasuredLosses {
  struct One {
    ServingVariant variant;
    float loss = 0;
  };
  Problem problem;
  std::vector<One> losses;
};

class LossEstimates {
 public:
  // Learns from these problems. All numbers are those of `variants`, which must outlive the object.
  // All measured variants must be in it before its close(), and all others that at() will be asked
  // for before this call.
  LossEstimates(std::span<const MeasuredLosses* const> measured, NearVariants& variants);

  // The losses of variants that can serve the problem. If nothing similar was measured, a loss is
  // the mean of kUnmeasuredLoss and of what the trees predict.
  std::vector<float> at(const Problem& problem, std::span<const ServingVariant> serving) const;

 private:
  std::vector<const MeasuredLosses*> measured_;
  const NearVariants& variants_;
  BoostedTrees trees_;
};

}  // namespace mgtune

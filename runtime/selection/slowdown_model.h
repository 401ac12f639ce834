// SlowdownModel: how much slower than the best a variant is expected to be at a problem that was
// not measured, from all measurements of one GPU. README.md of runtime/dispatch has the method and
// its accuracy. Immutable; any number of threads may ask. The arguments of the constructor must
// outlive it.

#pragma once

#include <span>
#include <vector>

#include "selection/evidence.h"
#include "selection/variant_features.h"

namespace mgtune {

class SlowdownModel {
 public:
  // `measured_on`: the limits of the GPU that measured. If there are more than kMaxProblems
  // problems, those farthest from `near` are left out. If a problem has more than kMaxVariants
  // variants, only some of the slower half are used, and each stands for its neighbors.
  SlowdownModel(std::span<const MeasuredProblem> problems, const DeviceLimits& measured_on,
                const Problem& near);

  // With fewer measurements there is nothing to learn: the nearest pick is as good.
  static bool has_enough(std::span<const MeasuredProblem> problems);

  struct Estimate {
    std::size_t variant;  // of the variants that were asked about
    double slowdown;      // expected time over the lowest of all, minus 1: 0.02 is 2 % slower
    double risk;          // the ranking key: the slowdown and half of its standard deviation
  };
  // The estimates for the variants that serve the problem on `here`, the lowest risk first.
  std::vector<Estimate> estimate(const Problem& at, std::span<const Variant> variants,
                                 const DeviceLimits& here) const;

  // The expected time of the best variant.
  double best_ns(const Problem& at) const;

 private:
  static constexpr std::size_t kMaxProblems = 16, kMaxVariants = 256;

  struct Sample {
    VariantFeatures::Values features;
    float slowdown;    // logarithm of the ratio, cut off
    float stands_for;  // how many measured variants
  };
  struct Block {
    const Problem* problem;
    double best_ns, bytes;
    std::vector<Sample> samples;
  };
  void add_samples(const MeasuredProblem& measured, const DeviceLimits& measured_on,
                   Block& block) const;
  std::vector<double> weights(const Problem& at) const;  // of the blocks

  VariantFeatures features_;
  std::vector<Block> blocks_;
};

// The distance of two problems of one operator. It decides how much one says about the other.
double problem_distance(const Problem& a, const Problem& b);

}  // namespace mgtune

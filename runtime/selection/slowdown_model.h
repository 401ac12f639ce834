// SlowdownModel: by how much a variant is expected to be slower than the best one at a problem that
// nobody measured, from everything that was measured on one GPU. README.md has the method and how
// good it is. Immutable; any number of threads may ask. What it is made from outlives it.

#pragma once

#include <span>
#include <vector>

#include "selection/evidence.h"
#include "selection/measured_problems.h"
#include "selection/variant_features.h"

namespace mgtune {

class SlowdownModel {
 public:
  // `measured_on`: the limits of the GPU that measured. Problems beyond kMaxProblems are left out,
  // those farthest from `near` first, and of a problem's variants beyond kMaxVariants every so
  // many-th of the slower half stands for its neighbors.
  SlowdownModel(const Evidence& evidence, std::span<const MeasuredProblem> problems,
                const DeviceLimits& measured_on, const Problem& near);

  // With less than this there is nothing to learn from: the nearest pick is as good.
  static bool has_enough(std::span<const MeasuredProblem> problems);

  struct Estimate {
    std::size_t variant;  // of the variants that were asked about
    double slowdown;      // expected time over the lowest of all, less 1: 0.02 is 2 % slower
    double risk;          // what ranks: the slowdown and half of its standard deviation
  };
  // Of those that serve the problem on `here`, the lowest risk first.
  std::vector<Estimate> estimate(const Problem& at, std::span<const Variant> variants,
                                 const DeviceLimits& here) const;

  // What the best variant is expected to take.
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
  void add_samples(const Evidence& evidence, const MeasuredProblem& measured,
                   const DeviceLimits& measured_on, Block& block) const;
  std::vector<double> weights(const Problem& at) const;  // of the blocks

  VariantFeatures features_;
  std::vector<Block> blocks_;
};

// How far two problems of one operator are apart, for what is learned of one by the other.
double problem_distance(const Problem& a, const Problem& b);

}  // namespace mgtune

// SlowdownModel: estimates how much slower than the best variant another variant is on a problem
// that was not measured. It learns from all measurements of one GPU. The README.md of
// runtime/dispatch describes the method and its accuracy. Immutable; any number of threads may use
// it. The arguments of the constructor must outlive it.

#pragma once

#include <span>
#include <vector>

#include "selection/evidence.h"
#include "selection/variant_features.h"

namespace mgtune {

class SlowdownModel {
 public:
  // `measured_on` are the limits of the GPU that measured. If there are more than kMaxProblems
  // problems, the model uses those that are nearest to `near`. If a problem has more than
  // kMaxVariants variants, it uses the fastest kMaxVariants / 2 and every n-th of the others, which
  // then counts n times.
  SlowdownModel(std::span<const MeasuredProblem> problems, const DeviceLimits& measured_on,
                const Problem& near);

  // Whether there are enough measurements for a model. With fewer, the pick of the nearest problem
  // is as good as an estimate.
  static bool has_enough(std::span<const MeasuredProblem> problems);

  struct Estimate {
    std::size_t variant;  // of the variants that were asked about
    double slowdown;      // expected time over the lowest of all, minus 1: 0.02 is 2 % slower
    double risk;          // the ranking key: the slowdown and half of its standard deviation
  };
  // Estimates for those of `variants` that can run the problem on a GPU with the limits `here`. The
  // lowest risk comes first.
  std::vector<Estimate> estimate(const Problem& at, std::span<const Variant> variants,
                                 const DeviceLimits& here) const;

  // The expected time of the best variant.
  double best_ns(const Problem& at) const;

 private:
  static constexpr std::size_t kMaxProblems = 16, kMaxVariants = 256;

  struct Sample {
    VariantFeatures::Values features;
    float slowdown;    // the logarithm of the ratio, at most a limit
    float stands_for;  // the number of measured variants that this sample represents
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

// The distance of two problems of one operator. The smaller it is, the more a measurement of one
// problem counts for the other.
double problem_distance(const Problem& a, const Problem& b);

}  // namespace mgtune

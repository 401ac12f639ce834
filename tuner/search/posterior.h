// Posterior: what a Gaussian process believes of candidates, given observations that arrive one by
// one: O(n^2 + n c) for each of n among c candidates, against O(n^2 c) from scratch.
//
// An observation that is not known yet (it is being measured) or known only to be at least so large
// (it was raced out) is there as well: it makes its surroundings certain, and the mean stays as the
// others leave it. The coordinates outlive the object. One thread.

#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "search/encoding.h"
#include "search/kernel.h"

namespace mgtune {

struct Target {
  enum class Kind : std::uint8_t { known, at_least, unknown };
  Kind kind = Kind::unknown;
  double value = 0;  // of known and at_least; the known ones have about mean 0 and deviation 1
};

// A variant that was suggested or reported, and its result.
struct Observation {
  enum class State : std::uint8_t { pending, ok, at_least, failed };
  std::uint64_t index = 0;  // in the set
  EncodedPoint point;
  State state = State::pending;
  double log_time = 0;
};

// How the adaptive strategy turns the times that were measured into the targets of its model.
struct TimeScale {
  double best = std::numeric_limits<double>::infinity();  // logarithms of times, as all of these
  double cap = 0, mean = 0, deviation = 1;

  // How slow a slow variant is does not help to find fast ones, and factors of thirty would hide
  // differences of 5 %. So every time that is farther above the median than the best is below it
  // counts as equally slow, and so does a failure. At least one observation is ok.
  explicit TimeScale(const std::vector<Observation>& observations);

  double normalized(double log_time) const;
  Target target(const Observation& observation) const;
};

class Posterior {
 public:
  Posterior(const std::vector<Coordinate>& coordinates, CovarianceKernel kernel);

  std::size_t observations() const { return observed_.size(); }
  std::size_t candidates() const { return candidates_.size(); }
  void observe(const EncodedPoint& point);
  void add_candidates(std::span<const EncodedPoint> points);

  // Sets the targets of all observations, in the order of observe().
  void condition(std::span<const Target> targets);

  // Of a candidate, by the order of add_candidates(), after condition().
  double mean(std::size_t candidate) const { return mean_[candidate]; }
  double deviation(std::size_t candidate) const;

 private:
  const std::vector<Coordinate>* coordinates_;  // a pointer, so that a new one can take its place
  CovarianceKernel kernel_;
  PointTable observed_, candidates_;
  std::vector<std::vector<double>> factor_;  // rows of the lower triangle L
  std::vector<std::vector<float>> reduced_;  // L^-1 times the covariances with the candidates
  std::vector<float> explained_;             // of each candidate's variance, of 1
  std::vector<float> mean_;
  double scale_ = 1;  // of the signal
};

}  // namespace mgtune

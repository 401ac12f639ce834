// Posterior: the mean and deviation that a Gaussian process predicts for candidates, given
// observations. Observations arrive one by one. With n observations and c candidates, adding one
// costs O(n^2 + n c). Computing everything again would cost O(n^2 c).
//
// A variant that is still being measured is an observation too, and so is a variant that was raced
// out, for which only a lower limit of the time is known. Both reduce the deviation of the
// candidates near them. A variant that is being measured does not change the mean; a variant that
// was raced out changes the mean only if its limit is above the prediction. The coordinates must
// outlive the object. One thread.

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
  double value = 0;  // if known or at_least; scaled to about mean 0 and deviation 1
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
  double best = std::numeric_limits<double>::infinity();  // all members are logarithms of times
  double cap = 0, mean = 0, deviation = 1;

  // The model must tell variants apart that differ by 5 %, so times must not differ by a factor of
  // 30. And it does not help to know how slow a slow variant is. So there is a limit, `cap`, which
  // is as far above the median as the best time is below it. Every slower time is replaced by the
  // limit, and so is a failure. At least one observation must be ok.
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

  // The prediction for a candidate, an index in the order of add_candidates(). Call condition()
  // before.
  double mean(std::size_t candidate) const { return mean_[candidate]; }
  double deviation(std::size_t candidate) const;

  // The deviation of a measurement of the candidate. It includes the noise: the part of a variant's
  // time that differs from its neighbors and that no parameter explains.
  double deviation_of_measurement(std::size_t candidate) const;

  // A posterior with the same observations, to which other candidates can be added.
  Posterior without_candidates() const;

 private:
  const std::vector<Coordinate>* coordinates_;  // a pointer, so that objects can be assigned
  CovarianceKernel kernel_;
  PointTable observed_, candidates_;
  std::vector<std::vector<double>> factor_;  // rows of the lower triangle L
  std::vector<std::vector<float>> reduced_;  // L^-1 times the covariances with the candidates
  std::vector<float> explained_;             // by candidate: the known part of its variance 1
  std::vector<float> mean_;
  double scale_ = 1;  // of the signal
};

}  // namespace mgtune

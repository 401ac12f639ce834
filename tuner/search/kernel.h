// CovarianceKernel: the covariance of the times (logarithms) of two variants in a Gaussian process.
// It is a rational quadratic function of their distance, plus noise. Each coordinate of the
// distance is divided by a length. fit_kernel() finds the lengths that explain the measured times
// best. Pure functions.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "search/encoding.h"
#include "space/random_stream.h"

namespace mgtune {

struct CovarianceKernel {
  // One logarithm of a length for each coordinate. If a length is large, times hardly depend on the
  // parameter.
  std::vector<double> log_lengths;
  double log_noise = 0;  // logarithm of: variance of the noise / variance of the signal

  explicit CovarianceKernel(std::size_t coordinates);
  double noise() const;
};

// Writes to `out` the covariances of `point` with the points [first, first + out.size()) of the
// table. The covariance of a point with itself is 1.
void covariances(const std::vector<Coordinate>& coordinates, const CovarianceKernel& kernel,
                 const EncodedPoint& point, const PointTable& table, std::size_t first,
                 std::span<float> out);

// How badly the kernel explains `values` (mean 0, deviation 1) at the points; lower is better. It
// is the negative log likelihood, with the variance of the signal integrated out, plus priors for
// the lengths and the noise.
double kernel_cost(const std::vector<Coordinate>& coordinates, const CovarianceKernel& kernel,
                   const PointTable& points, std::span<const double> values);

// Improves `kernel` by random steps, of which it keeps those that lower the cost. It takes about
// 6 ms for 50 points of 10 coordinates, 25 ms for 200 points and 80 ms for 300 points.
void fit_kernel(const std::vector<Coordinate>& coordinates, const PointTable& points,
                std::span<const double> values, RandomStream& random, CovarianceKernel& kernel);

}  // namespace mgtune

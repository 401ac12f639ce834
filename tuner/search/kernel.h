// CovarianceKernel: how much the (log) times of two variants have in common, as a Gaussian process
// sees it: Matern 5/2 of a distance in which every coordinate has a length of its own, plus noise.
// fit_kernel() finds the lengths that explain what was measured. Pure functions of their arguments.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "search/encoding.h"
#include "space/random_stream.h"

namespace mgtune {

struct CovarianceKernel {
  std::vector<double> log_lengths;  // by coordinate; long: the parameter hardly matters
  double log_noise = 0;             // variance, as a share of the signal's

  explicit CovarianceKernel(std::size_t coordinates);
  double noise() const;
};

// Covariances of `point` with the points [first, first + out.size()) of the table; 1 with itself.
void covariances(const std::vector<Coordinate>& coordinates, const CovarianceKernel& kernel,
                 const EncodedPoint& point, const PointTable& table, std::size_t first,
                 std::span<float> out);

// A lower one explains `values` (mean 0, deviation 1) at the points better: the negative log
// likelihood with the signal's variance integrated out, plus priors on lengths and noise.
double kernel_cost(const std::vector<Coordinate>& coordinates, const CovarianceKernel& kernel,
                   const PointTable& points, std::span<const double> values);

// Improves `kernel` by a seeded random walk that keeps what lowers the cost. Takes about 6 ms for
// 50 points of 10 coordinates, 25 ms for 200 and 80 ms for 300.
void fit_kernel(const std::vector<Coordinate>& coordinates, const PointTable& points,
                std::span<const double> values, RandomStream& random, CovarianceKernel& kernel);

}  // namespace mgtune

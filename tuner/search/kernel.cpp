#include "search/kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mgtune {
namespace {

// The priors: the mean and the deviation of a logarithm. With a length of 1, the whole range of a
// parameter changes the time only a little. So a parameter is assumed to matter little until the
// measurements show that it does. With few measurements this is far better than shorter lengths
// (0.3, 0.5).
constexpr double kLogLength = 0, kLogLengthDeviation = 1.5;
constexpr double kLogNoise = -4.6, kLogNoiseDeviation = 1.5;  // 0.01
constexpr double kMinLogNoise = -9.2;                         // 0.0001: keeps matrices regular

constexpr double kStepDeviation = 0.7;  // of the walk, in logarithms

// The steps of the random walk. With few points, more steps help: on the hardest recorded space, 40
// steps are 0.04 worse than 120, and 250 are no better. With many points, a step costs n^3 / 6
// multiplications, and the lengths of the previous fit are already good.
std::size_t walk_steps(std::size_t points) {
  constexpr double kSteps = 120, kFullUpTo = 80, kMinSteps = 20;
  const double ratio = kFullUpTo / static_cast<double>(std::max<std::size_t>(points, 1));
  return static_cast<std::size_t>(std::clamp(kSteps * ratio * ratio, kMinSteps, kSteps));
}

// The function falls slowly, so that distant points count too: in a space of ten parameters most
// points are distant.
double rational_quadratic(double squared_distance) { return 1 / (1 + squared_distance / 2); }

double squared(double x) { return x * x; }

// A lower triangular matrix, stored by columns, because the loops below run along columns. Column k
// starts with its diagonal element.
class Triangle {
 public:
  explicit Triangle(std::size_t order) : order_(order), elements_(order * (order + 1) / 2) {}
  double* column(std::size_t k) { return elements_.data() + k * order_ - (k * (k + 1) / 2) + k; }

 private:
  std::size_t order_;
  std::vector<double> elements_;
};

// Factors the matrix in place (Cholesky) and replaces v by L^-1 v. Returns the logarithm of the
// determinant of L, or infinity if the matrix is not positive definite.
double factor_and_solve(Triangle& matrix, std::vector<double>& v) {
  double log_determinant = 0;
  const std::size_t n = v.size();
  for (std::size_t k = 0; k < n; ++k) {
    double* column = matrix.column(k);
    if (!(column[0] > 1e-10)) return std::numeric_limits<double>::infinity();
    const double diagonal = std::sqrt(column[0]);
    log_determinant += std::log(diagonal);
    for (std::size_t i = 0; i < n - k; ++i) column[i] /= diagonal;
    v[k] /= diagonal;
    for (std::size_t i = 1; i < n - k; ++i) v[k + i] -= column[i] * v[k];
    for (std::size_t j = 1; j < n - k; ++j) {
      double* target = matrix.column(k + j);
      const double factor = column[j];
      for (std::size_t i = 0; i < n - k - j; ++i) target[i] -= factor * column[j + i];
    }
  }
  return log_determinant;
}

CovarianceKernel changed(const CovarianceKernel& kernel, RandomStream& random) {
  CovarianceKernel next = kernel;
  const std::size_t count = kernel.log_lengths.size();
  const auto which = static_cast<std::size_t>(random.below(count + 1));
  double& value = which == count ? next.log_noise : next.log_lengths[which];
  value += kStepDeviation * random.normal();
  if (count > 0 && random.below(4) == 0) {  // so that one parameter can replace another one
    next.log_lengths[static_cast<std::size_t>(random.below(count))] +=
        kStepDeviation * random.normal();
  }
  next.log_noise = std::max(next.log_noise, kMinLogNoise);
  return next;
}

}  // namespace

CovarianceKernel::CovarianceKernel(std::size_t coordinates)
    : log_lengths(coordinates, kLogLength), log_noise(kLogNoise) {}

double CovarianceKernel::noise() const { return std::exp(log_noise); }

void covariances(const std::vector<Coordinate>& coordinates, const CovarianceKernel& kernel,
                 const EncodedPoint& point, const PointTable& table, std::size_t first,
                 std::span<float> out) {
  std::ranges::fill(out, 0.0F);
  for (std::size_t d = 0; d < coordinates.size(); ++d) {
    const auto weight = static_cast<float>(std::exp(-2 * kernel.log_lengths[d]));
    const float step = weight * coordinates[d].step;
    const float slope = weight * coordinates[d].slope;
    const float* column = table.column(d).data() + first;
    const float here = point[d];
    for (std::size_t i = 0; i < out.size(); ++i) {
      const float difference = column[i] - here;
      const float square = std::min(difference * difference, 1.0F);
      out[i] += (square > 0 ? step : 0.0F) + slope * square;
    }
  }
  for (float& value : out) value = static_cast<float>(rational_quadratic(value));
}

double kernel_cost(const std::vector<Coordinate>& coordinates, const CovarianceKernel& kernel,
                   const PointTable& points, std::span<const double> values) {
  const std::size_t n = values.size();
  Triangle matrix(n);
  std::vector<float> row(n);
  for (std::size_t k = 0; k < n; ++k) {
    const std::span<float> below(row.data(), n - k);
    covariances(coordinates, kernel, points.row(k), points, k, below);
    std::copy(below.begin(), below.end(), matrix.column(k));
    matrix.column(k)[0] = 1 + kernel.noise();
  }
  std::vector<double> solved(values.begin(), values.end());
  const double log_determinant = factor_and_solve(matrix, solved);
  double sum = 0;
  for (const double x : solved) sum += x * x;
  const auto count = static_cast<double>(n);
  double cost = 0.5 * count * std::log(sum / count + 1e-6) + log_determinant;
  for (const double log_length : kernel.log_lengths) {
    cost += 0.5 * squared((log_length - kLogLength) / kLogLengthDeviation);
  }
  return cost + 0.5 * squared((kernel.log_noise - kLogNoise) / kLogNoiseDeviation);
}

void fit_kernel(const std::vector<Coordinate>& coordinates, const PointTable& points,
                std::span<const double> values, RandomStream& random, CovarianceKernel& kernel) {
  double cost = kernel_cost(coordinates, kernel, points, values);
  for (std::size_t i = walk_steps(values.size()); i > 0; --i) {
    CovarianceKernel next = changed(kernel, random);
    const double next_cost = kernel_cost(coordinates, next, points, values);
    if (!(next_cost < cost)) continue;
    cost = next_cost;
    kernel = std::move(next);
  }
}

}  // namespace mgtune

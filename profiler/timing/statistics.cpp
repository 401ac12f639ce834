#include "timing/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace mgtune {
namespace {

double quantile(const std::vector<double>& sorted, double p) {
  const double position = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = position - static_cast<double>(below);
  return sorted[below] + weight * (sorted[above] - sorted[below]);
}

// How many samples are outside the interval on each side: the largest k for which P(Binomial(count,
// 1/2) <= k) is at most 2.5 %. The true median is below the (k+1)-th smallest sample only if at
// most k samples are below it. Uses logarithms, because 2^-count underflows.
std::size_t ranks_outside(std::size_t count) {
  const auto n = static_cast<double>(count);
  double log_term = -n * std::log(2.0);  // of P(exactly k below), from k = 0
  double tail = std::exp(log_term);
  std::size_t outside = 0;
  while (true) {
    const auto k = static_cast<double>(outside);
    log_term += std::log((n - k) / (k + 1));
    tail += std::exp(log_term);
    if (tail > 0.025) return outside;
    ++outside;
  }
}

}  // namespace

SampleSummary summarise(std::span<const double> samples) {
  SampleSummary summary;
  if (samples.empty()) return summary;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  summary.count = static_cast<std::int64_t>(sorted.size());
  summary.min = sorted.front();
  summary.q1 = quantile(sorted, 0.25);
  summary.median = quantile(sorted, 0.5);
  summary.q3 = quantile(sorted, 0.75);
  const std::size_t outside = ranks_outside(sorted.size());
  summary.median_low = sorted[outside];
  summary.median_high = sorted[sorted.size() - 1 - outside];
  return summary;
}

}  // namespace mgtune

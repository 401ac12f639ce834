#include "search/remaining_gain.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "space/random_stream.h"

namespace mgtune {
namespace {

constexpr std::uint64_t kMaxPoints = 1U << 22U;  // walking through them takes some 10 ms
constexpr double kLookedAt = 10'000;             // about how many variants
constexpr std::size_t kAtOnce = 1000;            // variants per prediction

// The logarithm of the probability that none of the points is below the bound.
double log_none(const Posterior& model, std::span<const EncodedPoint> points,
                std::span<const Target> targets, double bound) {
  Posterior predicted = model;
  predicted.add_candidates(points);
  predicted.condition(targets);
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double deviations = (predicted.mean(i) - bound) / predicted.deviation_of_measurement(i);
    sum += std::log1p(-0.5 * std::erfc(deviations / std::sqrt(2.0)));
  }
  return sum;
}

}  // namespace

std::optional<std::uint64_t> RemainingGain::count() {
  if (!variants_.has_value() && set_.size() <= kMaxPoints) {
    variants_ = 0;
    set_.for_each([this](const Variant&) { return ++*variants_ > 0; });
  }
  return variants_;
}

double RemainingGain::chance(const Posterior& model, std::span<const Target> targets, double bound,
                             const IsVisited& is_visited, std::uint64_t seed) {
  const std::optional<std::uint64_t> variants = count();
  if (!variants.has_value()) return 1;
  const double share = std::min(1.0, kLookedAt / static_cast<double>(*variants));
  RandomStream random(seed);
  const Posterior observed = model.without_candidates();
  std::vector<EncodedPoint> points;
  double sum = 0;
  const auto add_points = [&] {
    sum += log_none(observed, points, targets, bound);
    points.clear();
  };
  set_.for_each([&](const Variant& variant) {
    if (share < 1 && random.uniform() >= share) return true;
    if (is_visited(set_.index(variant))) return true;
    points.push_back(encoding_.encode(variant));
    if (points.size() == kAtOnce) add_points();
    return true;
  });
  if (!points.empty()) add_points();
  return -std::expm1(sum / share);
}

}  // namespace mgtune

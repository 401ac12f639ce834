#include "selection/slowdown_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "selection/variant_selection.h"

namespace mgtune {
namespace {

// runtime/dispatch/README.md says how they were found;
// tests/unit/tuner/search/recorded_regret_test.cpp checks the result.
constexpr double kBytes = 2.2;        // of a factor of two in the cost's bytes
constexpr double kDim = 0.025;        // of a factor of two in a dim
constexpr float kCutOff = 0.18F;      // ln: what is more than 20 % slower is as bad as any
constexpr float kFarthest = 12;       // squared distances beyond this weigh nothing
constexpr double kFewSamples = 0.03;  // weight of alike variants at which a problem counts by half
constexpr double kPrior = 0.025;      // weight of not knowing, which counts as
constexpr double kPriorSlowdown = 0.5;
constexpr double kCaution = 0.45;  // standard deviations between problems that count as slower

constexpr std::size_t kMinProblems = 2, kMinVariants = 4;

}  // namespace

double problem_distance(const Problem& a, const Problem& b) {
  double distance = kBytes * std::abs(std::log2(cost_bytes(a)) - std::log2(cost_bytes(b)));
  for (const Dim& dim : a.op->dims) {
    if (dim.fallback) continue;  // strides follow
    const auto slot = std::size_t(dim.slot);
    distance += kDim * std::abs(log_extent(a.slots[slot]) - log_extent(b.slots[slot]));
  }
  return distance;
}

bool SlowdownModel::has_enough(std::span<const MeasuredProblem> problems) {
  const auto usable = std::ranges::count_if(problems, [](const MeasuredProblem& problem) {
    return problem.variants.size() >= kMinVariants;
  });
  return static_cast<std::size_t>(usable) >= kMinProblems;
}

SlowdownModel::SlowdownModel(std::span<const MeasuredProblem> problems,
                             const DeviceLimits& measured_on, const Problem& near)
    : features_(*near.op) {
  std::vector<const MeasuredProblem*> nearest;
  for (const MeasuredProblem& problem : problems) nearest.push_back(&problem);
  std::ranges::stable_sort(nearest, {}, [&](const MeasuredProblem* measured) {
    return problem_distance(*measured->problem, near);
  });
  if (nearest.size() > kMaxProblems) nearest.resize(kMaxProblems);
  for (const MeasuredProblem* measured : nearest) {
    Block block{measured->problem, measured->best_ns(), cost_bytes(*measured->problem), {}};
    add_samples(*measured, measured_on, block);
    if (!block.samples.empty()) blocks_.push_back(std::move(block));
  }
}

void SlowdownModel::add_samples(const MeasuredProblem& measured, const DeviceLimits& measured_on,
                                Block& block) const {
  const std::size_t count = measured.variants.size();
  const std::size_t all_of = std::min(count, kMaxVariants / 2);  // the fastest, every one
  const std::size_t step =
      count <= kMaxVariants ? 1 : (count - all_of + kMaxVariants / 2 - 1) / (kMaxVariants / 2);
  for (std::size_t i = 0; i < count; i += i < all_of ? 1 : step) {
    const MeasuredVariant& variant = measured.variants[i];
    Sample sample{};
    if (!features_.read(*measured.problem, *variant.variant, measured_on, sample.features)) {
      continue;
    }
    sample.slowdown =
        std::min(static_cast<float>(std::log(variant.median_ns / block.best_ns)), kCutOff);
    sample.stands_for = i < all_of ? 1 : static_cast<float>(step);
    block.samples.push_back(sample);
  }
}

std::vector<double> SlowdownModel::weights(const Problem& at) const {
  std::vector<double> distances;
  for (const Block& block : blocks_) distances.push_back(problem_distance(*block.problem, at));
  const double nearest =
      distances.empty() ? 0 : *std::min_element(distances.begin(), distances.end());
  for (double& distance : distances) distance = std::exp(nearest - distance);
  return distances;
}

std::vector<SlowdownModel::Estimate> SlowdownModel::estimate(const Problem& at,
                                                             std::span<const Variant> variants,
                                                             const DeviceLimits& here) const {
  const std::vector<double> nearness = weights(at);
  std::vector<Estimate> estimates;
  double lowest = std::numeric_limits<double>::infinity();
  std::vector<std::pair<double, double>> terms(blocks_.size());  // weight and mean of each problem
  for (std::size_t v = 0; v < variants.size(); ++v) {
    VariantFeatures::Values features;
    if (!features_.read(at, variants[v], here, features)) continue;
    double sum = kPrior * kPriorSlowdown, weight = kPrior;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      float alike = 0, slowdowns = 0;
      for (const Sample& sample : blocks_[b].samples) {
        const float distance = features_.squared_distance(features, sample.features, kFarthest);
        if (distance >= kFarthest) continue;
        const float likeness = sample.stands_for * std::exp(-distance);
        alike += likeness;
        slowdowns += likeness * sample.slowdown;
      }
      const auto mass = static_cast<double>(alike);
      const double of_block = nearness[b] * mass / (mass + kFewSamples);
      terms[b] = {of_block, mass > 0 ? static_cast<double>(slowdowns) / mass : 0};
      sum += of_block * terms[b].second;
      weight += of_block;
    }
    const double mean = sum / weight;
    double variance = 0;
    for (const auto& [of_block, of_mean] : terms)
      variance += of_block * std::pow(of_mean - mean, 2);
    const double known = weight - kPrior;
    const double spread = known > 0 ? std::sqrt(variance / known) : 0;
    estimates.push_back({v, std::expm1(mean), std::expm1(mean) + kCaution * spread});
    lowest = std::min(lowest, std::expm1(mean));
  }
  // An average over similar variants is never quite that of the best one, so slowdowns are relative
  // to the lowest estimate.
  for (Estimate& estimate : estimates) {
    estimate.risk -= lowest;
    estimate.slowdown = (1 + estimate.slowdown) / (1 + lowest) - 1;
  }
  std::ranges::stable_sort(estimates, {}, &Estimate::risk);
  return estimates;
}

double SlowdownModel::best_ns(const Problem& at) const {
  const std::vector<double> nearness = weights(at);
  double sum = 0, weight = 0;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    sum += nearness[b] * std::log(blocks_[b].best_ns / blocks_[b].bytes);
    weight += nearness[b];
  }
  return weight > 0 ? cost_bytes(at) * std::exp(sum / weight) : 0;
}

}  // namespace mgtune

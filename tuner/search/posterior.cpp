#include "search/posterior.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mgtune {
namespace {

// a -= factor * b. Nearly all time is spent in this loop.
void subtract(std::span<float> a, float factor, std::span<const float> b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= factor * b[i];
}

}  // namespace

Posterior::Posterior(const std::vector<Coordinate>& coordinates, CovarianceKernel kernel)
    : coordinates_(&coordinates),
      kernel_(std::move(kernel)),
      observed_(coordinates.size()),
      candidates_(coordinates.size()) {}

void Posterior::observe(const EncodedPoint& point) {
  const std::size_t n = observed_.size();
  std::vector<float> covariance(n);
  covariances(*coordinates_, kernel_, point, observed_, 0, covariance);
  std::vector<double> row(covariance.begin(), covariance.end());
  double left = 1 + kernel_.noise();
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k) row[j] -= row[k] * factor_[j][k];
    row[j] /= factor_[j][j];
    left -= row[j] * row[j];
  }
  row.push_back(std::sqrt(std::max(left, 1e-9)));

  std::vector<float> reduced(candidates_.size());
  covariances(*coordinates_, kernel_, point, candidates_, 0, reduced);
  for (std::size_t j = 0; j < n; ++j) subtract(reduced, static_cast<float>(row[j]), reduced_[j]);
  const auto inverse = static_cast<float>(1 / row[n]);
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    reduced[i] *= inverse;
    explained_[i] += reduced[i] * reduced[i];
  }
  observed_.add(point);
  factor_.push_back(std::move(row));
  reduced_.push_back(std::move(reduced));
}

void Posterior::add_candidates(std::span<const EncodedPoint> points) {
  const std::size_t first = candidates_.size();
  for (const EncodedPoint& point : points) candidates_.add(point);
  explained_.resize(candidates_.size());
  for (std::size_t j = 0; j < observed_.size(); ++j) {
    reduced_[j].resize(candidates_.size());
    const auto added = std::span<float>(reduced_[j]).subspan(first);
    covariances(*coordinates_, kernel_, observed_.row(j), candidates_, first, added);
    for (std::size_t k = 0; k < j; ++k) {
      subtract(added, static_cast<float>(factor_[j][k]),
               std::span<const float>(reduced_[k]).subspan(first));
    }
    const auto inverse = static_cast<float>(1 / factor_[j][j]);
    for (std::size_t i = 0; i < added.size(); ++i) {
      added[i] *= inverse;
      explained_[first + i] += added[i] * added[i];
    }
  }
}

// Forward substitution. When it reaches an observation, the prediction from the earlier ones is
// known. An observation without a result is assumed to be as predicted, so its residual is 0.
void Posterior::condition(std::span<const Target> targets) {
  const std::size_t n = observed_.size();
  std::vector<double> residuals(n);  // observation minus prediction, normalized
  double sum = 0, known = 0;
  for (std::size_t j = 0; j < n; ++j) {
    if (targets[j].kind == Target::Kind::unknown) continue;
    double predicted = 0;
    for (std::size_t k = 0; k < j; ++k) predicted += factor_[j][k] * residuals[k];
    residuals[j] = (targets[j].value - predicted) / factor_[j][j];
    if (targets[j].kind == Target::Kind::at_least) {
      residuals[j] = std::max(residuals[j], 0.0);
    } else {
      sum += residuals[j] * residuals[j];
      ++known;
    }
  }
  scale_ = known > 0 ? std::sqrt(sum / known + 1e-6) : 1;
  mean_.assign(candidates_.size(), 0);
  for (std::size_t j = 0; j < n; ++j) {
    if (residuals[j] != 0) subtract(mean_, static_cast<float>(-residuals[j]), reduced_[j]);
  }
}

double Posterior::deviation(std::size_t candidate) const {
  return scale_ * std::sqrt(std::max(1e-6F, 1 - explained_[candidate]));
}

double Posterior::deviation_of_measurement(std::size_t candidate) const {
  // Not std::hypot: with it, the Python package would need glibc 2.35 instead of 2.34.
  const double modelled = deviation(candidate);
  return std::sqrt(modelled * modelled + scale_ * scale_ * kernel_.noise());
}

Posterior Posterior::without_candidates() const {
  Posterior copy(*coordinates_, kernel_);
  copy.observed_ = observed_;
  copy.factor_ = factor_;
  copy.reduced_.resize(observed_.size());
  return copy;
}

TimeScale::TimeScale(const std::vector<Observation>& observations) {
  std::vector<double> times;
  double failures = 0;
  for (const Observation& observation : observations) {
    if (observation.state == Observation::State::pending) continue;
    if (observation.state == Observation::State::failed) {
      ++failures;
      continue;
    }
    times.push_back(observation.log_time);
    if (observation.state == Observation::State::ok) best = std::min(best, times.back());
  }
  std::ranges::sort(times);
  const double median = times[times.size() / 2];
  cap = median + std::max(median - best, 0.0) + 0.01;
  double sum = failures * cap;
  double squares = failures * cap * cap;
  for (const double time : times) {
    const double capped = std::min(time, cap);
    sum += capped;
    squares += capped * capped;
  }
  const double count = failures + static_cast<double>(times.size());
  mean = sum / count;
  deviation = std::sqrt(std::max(squares / count - mean * mean, 1e-12));
}

double TimeScale::normalized(double log_time) const {
  return (std::min(log_time, cap) - mean) / deviation;
}

Target TimeScale::target(const Observation& observation) const {
  switch (observation.state) {
    case Observation::State::ok:
      return {Target::Kind::known, normalized(observation.log_time)};
    case Observation::State::failed:
      return {Target::Kind::known, normalized(cap)};
    case Observation::State::at_least:
      return {Target::Kind::at_least, normalized(observation.log_time)};
    case Observation::State::pending:
      break;
  }
  return {};
}

}  // namespace mgtune

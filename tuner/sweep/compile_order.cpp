#include "sweep/compile_order.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mgtune {
namespace {

// For each process, this many variants are spread over the space. Without results there is nothing
// to predict from, and a sweep asks for this many variants before the first one has its result.
constexpr std::size_t kSpread = 2;

// The order matters as soon as one variant will probably take more than this part of the remaining
// time.
constexpr double kLongPart = 0.1;

// The predictions may be too short by this factor in total.
constexpr double kPredictionMargin = 1.5;

// A number of the sum that is known from few variants is pulled towards 0, as if this many further
// variants had taken exactly the time that is predicted without this number.
constexpr double kShrinkage = 0.5;

constexpr std::size_t kRounds = 8;  // of the fit, each of which goes through all parameters
constexpr double kRefitAt = 1.125;  // fit again with this many times the results of the last fit

constexpr double kGoldenPart = 0.6180339887498949;

}  // namespace

void CompileOrder::add(Variant variant) {
  Terms terms = terms_of(variant);
  const double seconds = predicted(terms);
  waiting_.push_back({std::move(variant), std::move(terms), seconds});
}

void CompileOrder::report(const Variant& variant, double seconds) {
  compiled_.push_back({terms_of(variant), std::log(std::max(seconds, 1e-3))});
  if (static_cast<double>(compiled_.size()) < kRefitAt * static_cast<double>(fitted_)) return;
  fit();
  for (Waiting& waiting : waiting_) waiting.seconds = predicted(waiting.terms);
}

std::optional<double> CompileOrder::likely_seconds(const Variant& variant) {
  if (fitted_ == 0) return std::nullopt;
  return predicted(terms_of(variant));
}

// First the design's term, then one for each parameter.
CompileOrder::Terms CompileOrder::terms_of(const Variant& variant) {
  Terms terms;
  for (std::size_t i = 0; i <= variant.values.size(); ++i) {
    const Value value{variant.design, i, i == 0 ? 0 : variant.values[i - 1]};
    terms.push_back(places_.try_emplace(value, places_.size()).first->second);
  }
  effects_.resize(places_.size());
  return terms;
}

double CompileOrder::predicted(const Terms& terms) const {
  double sum = mean_;
  for (const std::size_t term : terms) sum += effects_[term];
  return std::exp(sum);
}

// Least squares by backfitting: each parameter in turn takes what the others leave unexplained.
void CompileOrder::fit() {
  fitted_ = compiled_.size();
  mean_ = 0;
  std::size_t most_terms = 0;
  for (const Compiled& one : compiled_) {
    mean_ += one.log_seconds / static_cast<double>(compiled_.size());
    most_terms = std::max(most_terms, one.terms.size());
  }
  std::vector<double> left;  // the part of each logarithm that is not explained yet
  left.reserve(compiled_.size());
  for (const Compiled& one : compiled_) left.push_back(one.log_seconds - mean_);
  effects_.assign(places_.size(), 0.0);
  for (std::size_t step = 0; step < kRounds * most_terms; ++step) {
    const std::size_t term = step % most_terms;
    std::vector<double> change(effects_.size()), count(effects_.size());
    for (std::size_t i = 0; i < compiled_.size(); ++i) {
      if (term >= compiled_[i].terms.size()) continue;
      change[compiled_[i].terms[term]] += left[i];
      count[compiled_[i].terms[term]] += 1;
    }
    for (std::size_t place = 0; place < effects_.size(); ++place) {
      if (count[place] == 0) continue;
      change[place] = (change[place] - kShrinkage * effects_[place]) / (count[place] + kShrinkage);
      effects_[place] += change[place];
    }
    for (std::size_t i = 0; i < compiled_.size(); ++i) {
      if (term < compiled_[i].terms.size()) left[i] -= change[compiled_[i].terms[term]];
    }
  }
}

std::size_t CompileOrder::chosen(std::optional<double> seconds_left) const {
  if (given_ < kSpread * processes_) {
    const double place = static_cast<double>(given_) * kGoldenPart;
    return static_cast<std::size_t>((place - std::floor(place)) *
                                    static_cast<double>(waiting_.size()));
  }
  if (fitted_ == 0) return 0;
  double all = 0;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    all += waiting_[i].seconds / static_cast<double>(processes_);
    if (waiting_[i].seconds > waiting_[longest].seconds) longest = i;
  }
  const bool fits = !seconds_left.has_value() || kPredictionMargin * all <= *seconds_left;
  return fits && waiting_[longest].seconds > kLongPart * all ? longest : 0;
}

std::optional<Variant> CompileOrder::next(std::optional<double> seconds_left) {
  if (waiting_.empty()) return std::nullopt;
  const auto place = waiting_.begin() + static_cast<std::ptrdiff_t>(chosen(seconds_left));
  Variant variant = std::move(place->variant);
  waiting_.erase(place);
  ++given_;
  return variant;
}

}  // namespace mgtune

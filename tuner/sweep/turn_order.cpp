#include "sweep/turn_order.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/dtype.h"

namespace mgtune {
namespace {

// The expected gain of a problem before any problem of its operator was searched: on an H200 the
// defaults of rmsnorm took 1.06 times as long as the best variants.
constexpr double kGainBefore = 0.06;
constexpr double kWeightBefore = 0.5;  // a searched problem at distance 0 has weight 1

// After a turn that brought nothing, this part of the expected gain is left.
constexpr double kLeftAfterATurn = 0.4;

// The expected gain is at least this, so that a problem that can gain nothing still gets turns when
// no other problem is left.
constexpr double kLeast = 1e-4;

// The number of variants of the first turn: those that every search starts with, and the winners of
// near problems. Each further turn is twice as long. If there is much time, turns are longer: half
// of an equal share of the time. So the sweep does not switch too often between problems, which
// costs time.
constexpr std::int64_t kFirstTurn = 8;
constexpr std::int64_t kMostDoublings = 6;

// With this many seconds for each problem, all problems are searched anyway.
constexpr double kAmpleSeconds = 10;

// The assumed seconds of a variant until the problem was measured. Most of this time is waiting for
// the build.
constexpr double kVariantSeconds = 0.02;

// Another dtype of the same size hardly changes what is fast.
constexpr double kOtherDType = 0.1, kOtherSize = 1;

bool is_alike(const Problem& a, const Problem& b) {
  return std::ranges::all_of(a.op->flags, [&](const Flag& flag) {
    const auto slot = static_cast<std::size_t>(flag.slot);
    return a.slots[slot] == b.slots[slot];
  });
}

// The distance of two problems of one operator: the octaves between their dims, plus the distances
// of their flags and dtypes.
double distance(const Problem& a, const Problem& b) {
  double sum = is_alike(a, b) ? 0 : kOtherSize;
  for (const Dim& dim : a.op->dims) {
    if (dim.fallback.has_value()) continue;  // a stride
    const auto slot = static_cast<std::size_t>(dim.slot);
    sum += std::abs(std::log2(static_cast<double>(std::max<std::int64_t>(1, a.slots[slot])) /
                              static_cast<double>(std::max<std::int64_t>(1, b.slots[slot]))));
  }
  for (const DTypeVariable& variable : a.op->dtypes) {
    const auto slot = static_cast<std::size_t>(variable.slot);
    if (a.slots[slot] == b.slots[slot]) continue;
    const bool same_size = size_in_bytes(static_cast<DType>(a.slots[slot])) ==
                           size_in_bytes(static_cast<DType>(b.slots[slot]));
    sum += same_size ? kOtherDType : kOtherSize;
  }
  return sum;
}

}  // namespace

TurnOrder::TurnOrder(const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) places_.emplace_back().entry = entry;
}

double TurnOrder::gain_of(const Place& place) const {
  const Standing& at = place.standing;
  if (at.default_ns <= 0 || at.best_ns <= 0) return 0;
  return std::max(0.0, std::log(at.default_ns / at.best_ns));
}

// The whole expected gain over the default, from the problems of the same operator that were
// searched.
double TurnOrder::predicted_gain(std::size_t problem) const {
  const Place& own = places_[problem];
  double sum = kWeightBefore * kGainBefore, weights = kWeightBefore;
  for (const Place& other : places_) {
    if (&other == &own || other.turns == 0) continue;
    if (other.entry.problem->op != own.entry.problem->op) continue;
    const double far = 1 + distance(*own.entry.problem, *other.entry.problem);
    const double weight = 1 / (far * far);
    sum += weight * gain_of(other);
    weights += weight;
  }
  return sum / weights;
}

double TurnOrder::expected_gain(std::size_t problem) const {
  const Place& place = places_[problem];
  const Standing& at = place.standing;
  if (at.is_over) return 0;
  double gain = std::max(0.0, predicted_gain(problem) - gain_of(place));
  if (place.turns > 0) {
    gain = gain * std::pow(kLeftAfterATurn, static_cast<double>(place.turns)) +
           kLeftAfterATurn * place.last_gain;
  }
  if (at.copy_ns > 0 && at.best_ns > 0) {
    gain = std::min(gain, std::max(0.0, std::log(at.best_ns / at.copy_ns)));
  }
  return gain;
}

std::int64_t TurnOrder::least_evaluations(const Place& place) const {
  return kFirstTurn << std::min(place.turns, kMostDoublings);
}

double TurnOrder::seconds_each(const Place& place) const {
  return place.variant_seconds > 0 ? place.variant_seconds : kVariantSeconds;
}

double TurnOrder::cost(const Place& place, std::int64_t evaluations) const {
  return place.default_seconds + seconds_each(place) * static_cast<double>(evaluations);
}

TurnOrder::Place* TurnOrder::most_promising(double seconds_left) {
  Place* chosen = nullptr;
  double best = 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    if (place.standing.is_over || place.has_turn) continue;
    if (place.default_seconds > seconds_left) continue;  // there is only time to get it ready
    const double gain = std::max(kLeast, expected_gain(i));
    const double rate =
        gain * place.entry.weight / std::max(cost(place, least_evaluations(place)), 1e-3);
    if (rate <= best) continue;
    best = rate;
    chosen = &place;
  }
  return chosen;
}

std::optional<TurnOrder::Turn> TurnOrder::next(double seconds_left) {
  if (seconds_left <= 0) return std::nullopt;
  Place* chosen = nullptr;
  for (Place& place : places_) {
    if (place.has_begun || place.has_turn) continue;
    if (chosen == nullptr || place.entry.bytes < chosen->entry.bytes) chosen = &place;
  }
  const auto others = static_cast<double>(
      std::ranges::count_if(places_, [](const Place& place) { return !place.standing.is_over; }));
  Turn turn;
  turn.is_default = chosen != nullptr && seconds_left < kAmpleSeconds * others && others > 1;
  if (chosen == nullptr) chosen = most_promising(seconds_left);
  if (chosen == nullptr) return std::nullopt;
  turn.seconds = others > 1 ? seconds_left / (2 * others) : seconds_left;
  if (turn.is_default) {
    turn.evaluations = 1;
  } else if (others > 1) {
    const std::int64_t least = least_evaluations(*chosen);
    turn.evaluations = std::max(
        least, static_cast<std::int64_t>(turn.seconds / std::max(seconds_each(*chosen), 1e-4)));
    turn.seconds = std::max(turn.seconds, 2 * cost(*chosen, least));
  }
  turn.problem = static_cast<std::size_t>(chosen - places_.data());
  chosen->has_turn = true;
  return turn;
}

void TurnOrder::cancel(std::size_t problem) { places_[problem].has_turn = false; }

void TurnOrder::finish(std::size_t problem, const Standing& standing) {
  Place& place = places_[problem];
  place.has_turn = false;
  const double before = place.standing.best_ns;
  place.standing = standing;
  const double evaluated = static_cast<double>(std::max<std::int64_t>(1, standing.evaluated));
  if (!std::exchange(place.has_begun, true)) {
    place.default_seconds = standing.seconds / evaluated;
    place.turns = standing.evaluated > 1 ? 1 : 0;
    return;
  }
  ++place.turns;
  place.last_gain =
      before > 0 && standing.best_ns > 0 ? std::max(0.0, std::log(before / standing.best_ns)) : 0;
  if (standing.evaluated > 0) {
    place.variant_seconds = std::max(0.0, standing.seconds - place.default_seconds) / evaluated;
  }
}

}  // namespace mgtune

// Interval: all integers from `low` to `high`, both included. Expression::bounds() computes with
// intervals, to prove what an expression can be for any values in ranges. Plain values.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace mgtune {

struct Interval {
  std::int64_t low = 1;
  std::int64_t high = 0;  // below `low`: empty

  static constexpr Interval only(std::int64_t value) { return {value, value}; }
  static constexpr Interval not_negative() { return {0, std::numeric_limits<std::int64_t>::max()}; }

  bool is_empty() const { return low > high; }
  bool contains(std::int64_t value) const { return low <= value && value <= high; }
  bool operator==(const Interval&) const = default;
};

// The smallest interval that contains both.
inline Interval joined(const Interval& a, const Interval& b) {
  if (a.is_empty() || b.is_empty()) return a.is_empty() ? b : a;
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

inline Interval intersection(const Interval& a, const Interval& b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

}  // namespace mgtune

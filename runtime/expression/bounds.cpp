// Expression::bounds(): the bytecode over intervals.

#include <bit>
#include <limits>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "expression/expression.h"

namespace mgtune {
namespace {

// Holds the product of any two values of 64 bits.
__extension__ using Wide = __int128;

constexpr std::int64_t kLowestValue = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighestValue = std::numeric_limits<std::int64_t>::max();
constexpr Interval kAnyBoolean{0, 1};

Interval truth(bool may_be_false, bool may_be_true) {
  return {may_be_false ? 0 : 1, may_be_true ? 1 : 0};
}

// The values of [low, high] that fit into 64 bits. The others are overflows, and have no value.
Interval of_64_bits(Wide low, Wide high) {
  if (high < kLowestValue || low > kHighestValue) return {};
  return {static_cast<std::int64_t>(low < kLowestValue ? Wide{kLowestValue} : low),
          static_cast<std::int64_t>(high > kHighestValue ? Wide{kHighestValue} : high)};
}

// The values of an operation that only rises or only falls in each operand: the smallest and the
// largest value are at corners.
template <class Operation>
Interval of_corners(const Interval& a, const Interval& b, const Operation& operation) {
  if (a.is_empty() || b.is_empty()) return {};
  Wide low = operation(Wide{a.low}, Wide{b.low}), high = low;
  for (const Wide x : {Wide{a.low}, Wide{a.high}}) {
    for (const Wide y : {Wide{b.low}, Wide{b.high}}) {
      const Wide value = operation(x, y);
      low = value < low ? value : low;
      high = value > high ? value : high;
    }
  }
  return of_64_bits(low, high);
}

Interval positive(const Interval& a) { return intersection(a, {1, kHighestValue}); }
Interval negative(const Interval& a) { return intersection(a, {kLowestValue, -1}); }
Interval negated(const Interval& a) {
  return a.is_empty() ? a : of_64_bits(-Wide{a.high}, -Wide{a.low});
}

Interval quotient(const Interval& a, const Interval& b) {
  const auto divide = [](Wide x, Wide y) { return x / y; };
  return joined(of_corners(a, negative(b), divide), of_corners(a, positive(b), divide));
}

Wide magnitude_of(std::int64_t value) { return value < 0 ? -Wide{value} : Wide{value}; }
Wide largest_magnitude(const Interval& a) {
  const Wide low = magnitude_of(a.low), high = magnitude_of(a.high);
  return low > high ? low : high;
}

// The remainder has the sign of `a`, and its magnitude is below that of `b`.
Interval remainder(const Interval& a, const Interval& b) {
  if (b == Interval::only(0)) return {};
  if (b.low == b.high && b.low != kLowestValue && (a.low >= 0 || a.high <= 0) && b.low != -1 &&
      a.low / b.low == a.high / b.low) {
    return {a.low % b.low, a.high % b.low};  // no multiple of b lies between
  }
  const Wide most = largest_magnitude(b) - 1;
  const Wide low = a.low < 0 ? Wide{a.low} : 0, high = a.high > 0 ? Wide{a.high} : 0;
  return of_64_bits(low < -most ? -most : low, high > most ? most : high);
}

Interval common_divisor(const Interval& a, const Interval& b) {
  if (a.low == a.high && b.low == b.high) {
    Wide x = magnitude_of(a.low), y = magnitude_of(b.low);
    while (y != 0) x = std::exchange(y, x % y);
    return of_64_bits(x, x);
  }
  const bool zero_a = a.contains(0), zero_b = b.contains(0);
  const Wide of_a = largest_magnitude(a), of_b = largest_magnitude(b);
  Wide high = of_a < of_b ? of_a : of_b;  // it divides both
  if (zero_a) high = of_b;
  if (zero_b) high = zero_a && of_b > of_a ? of_b : of_a;
  return of_64_bits(zero_a && zero_b ? 0 : 1, high);
}

Wide quotient_up(Wide a, Wide b) { return a / b + (a % b > 0 ? 1 : 0); }

Interval rounded_up(const Interval& a, const Interval& b) {
  const auto round = [](Wide x, Wide y) { return quotient_up(x, y) * y; };
  if (b.low == b.high) return of_corners(a, b, round);
  return of_64_bits(a.low > 0 && a.low < b.low ? b.low : a.low, Wide{a.high} + b.high - 1);
}

Interval power_of_two(const Interval& a) {
  if (a.high <= 0) return truth(true, false);
  const auto low = static_cast<std::uint64_t>(std::max<std::int64_t>(a.low, 1));
  const bool is_there = std::bit_ceil(low) <= static_cast<std::uint64_t>(a.high);
  return truth(a.low != a.high || !is_there, is_there);
}

Interval size_of_dtypes(const Interval& dtypes) {
  Interval sizes;
  for (std::int64_t dtype = dtypes.low; dtype <= dtypes.high; ++dtype) {
    sizes = joined(sizes, Interval::only(size_in_bytes(static_cast<DType>(dtype))));
  }
  return sizes;
}

}  // namespace

Interval Expression::unary_bounds(Op op, const Interval& a) {
  if (a.is_empty()) return {};
  switch (op) {
    case Op::negate:
      return negated(a);
    case Op::logical_not:
      return truth(a != Interval::only(0), a.contains(0));
    case Op::is_pow2:
      return power_of_two(a);
    default:
      return size_of_dtypes(a);
  }
}

Interval Expression::binary_bounds(Op op, const Interval& a, const Interval& b) {
  if (a.is_empty() || b.is_empty()) return {};
  switch (op) {
    case Op::add:
      return of_64_bits(Wide{a.low} + b.low, Wide{a.high} + b.high);
    case Op::subtract:
      return of_64_bits(Wide{a.low} - b.high, Wide{a.high} - b.low);
    case Op::multiply:
      return of_corners(a, b, [](Wide x, Wide y) { return x * y; });
    case Op::divide:
      return quotient(a, b);
    case Op::modulo:
      return remainder(a, b);
    case Op::equal:
      return truth(a != b || a.low != a.high, !intersection(a, b).is_empty());
    case Op::not_equal:
      return truth(!intersection(a, b).is_empty(), a != b || a.low != a.high);
    case Op::less:
      return truth(a.high >= b.low, a.low < b.high);
    case Op::less_equal:
      return truth(a.high > b.low, a.low <= b.high);
    case Op::greater:
      return truth(a.low <= b.high, a.high > b.low);
    case Op::greater_equal:
      return truth(a.low < b.high, a.high >= b.low);
    case Op::minimum:
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case Op::maximum:
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case Op::gcd:
      return common_divisor(a, b);
    default:  // ceil_div, round_up: of positive divisors alone
      if (positive(b).is_empty()) return {};
      if (op == Op::ceil_div) return of_corners(a, positive(b), quotient_up);
      return rounded_up(a, positive(b));
  }
}

Interval Expression::bounds(std::span<const Interval> values) const {
  return bounds_of(0, code_.size(), values);
}

Interval Expression::bounds_of(std::size_t begin, std::size_t end,
                               std::span<const Interval> values) const {
  std::vector<Interval> stack;
  const auto pop = [&stack] {
    const Interval top = stack.back();
    stack.pop_back();
    return top;
  };
  for (std::size_t at = begin; at < end; ++at) {
    const Instruction& step = code_[at];
    const auto target = static_cast<std::size_t>(step.operand);
    switch (step.op) {
      case Op::push:
        stack.push_back(Interval::only(step.operand));
        break;
      case Op::load:
        stack.push_back(values[target]);
        break;
      case Op::jump_if_false: {  // condition ? first : second; a jump ends `first`
        const Interval condition = intersection(pop(), kAnyBoolean);
        const auto after = static_cast<std::size_t>(code_[target - 1].operand);
        Interval value;
        if (condition.contains(1)) value = bounds_of(at + 1, target - 1, values);
        if (condition.contains(0)) value = joined(value, bounds_of(target, after, values));
        stack.push_back(value);
        at = after - 1;
        break;
      }
      case Op::jump_if_false_keep:
      case Op::jump_if_true_keep: {
        const std::int64_t decisive = step.op == Op::jump_if_true_keep ? 1 : 0;
        const Interval left = intersection(pop(), kAnyBoolean);
        Interval value;
        if (left.contains(decisive)) value = Interval::only(decisive);
        if (left.contains(1 - decisive)) value = joined(value, bounds_of(at + 1, target, values));
        stack.push_back(value);
        at = target - 1;
        break;
      }
      case Op::negate:
      case Op::logical_not:
      case Op::is_pow2:
      case Op::size_of:
        stack.back() = unary_bounds(step.op, stack.back());
        break;
      default: {
        const Interval b = step.right == Source::stack      ? pop()
                           : step.right == Source::constant ? Interval::only(step.operand)
                                                            : values[target];
        stack.back() = binary_bounds(step.op, stack.back(), b);
      }
    }
  }
  return stack.back();
}

}  // namespace mgtune

// The bytecode interpreter of Expression, and its arithmetic.

#include <fmt/format.h>

#include <cassert>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "core/dtype.h"
#include "expression/expression.h"
#include "expression/token.h"

namespace mgtune {
namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

std::uint64_t magnitude(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return value < 0 ? 0 - bits : bits;
}

// The quotient by a positive divisor, rounded up.
std::int64_t quotient_up(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

}  // namespace

Expression Expression::integer(std::int64_t value) {
  Expression expression;
  expression.text_ = std::to_string(value);
  expression.code_.push_back({Op::push, Source::stack, 0, value});
  return expression;
}

Expression Expression::boolean(bool value) {
  Expression expression;
  expression.text_ = value ? "true" : "false";
  expression.type_ = ValueType::boolean;
  expression.code_.push_back({Op::push, Source::stack, 0, value ? 1 : 0});
  return expression;
}

inline bool Expression::unary(Op op, std::int64_t& value) {
  switch (op) {
    case Op::negate:
      return !__builtin_sub_overflow(0, value, &value);
    case Op::logical_not:
      value = value == 0 ? 1 : 0;
      return true;
    case Op::is_pow2:
      value = value > 0 && (value & (value - 1)) == 0 ? 1 : 0;
      return true;
    default:
      value = size_in_bytes(static_cast<DType>(value));
      return true;
  }
}

inline Expression::Fault Expression::binary(Op op, std::int64_t a, std::int64_t b,
                                            std::int64_t& result) {
  const auto overflow = [](bool happened) { return happened ? Fault::overflow : Fault::none; };
  const auto value = [&result](std::int64_t v) {
    result = v;
    return Fault::none;
  };
  switch (op) {
    case Op::add:
      return overflow(__builtin_add_overflow(a, b, &result));
    case Op::subtract:
      return overflow(__builtin_sub_overflow(a, b, &result));
    case Op::multiply:
      return overflow(__builtin_mul_overflow(a, b, &result));
    case Op::divide:
    case Op::modulo:
      if (b == 0) return Fault::division_by_zero;
      if (a == kLowest && b == -1) return Fault::overflow;
      return value(op == Op::divide ? a / b : a % b);
    case Op::equal:
      return value(a == b);
    case Op::not_equal:
      return value(a != b);
    case Op::less:
      return value(a < b);
    case Op::less_equal:
      return value(a <= b);
    case Op::greater:
      return value(a > b);
    case Op::greater_equal:
      return value(a >= b);
    case Op::minimum:
      return value(a < b ? a : b);
    case Op::maximum:
      return value(a > b ? a : b);
    case Op::gcd: {
      const std::uint64_t divisor = std::gcd(magnitude(a), magnitude(b));
      return __builtin_add_overflow(divisor, 0U, &result) ? Fault::overflow : Fault::none;
    }
    default:  // ceil_div, round_up
      if (b == 0) return Fault::division_by_zero;
      if (b < 0) return Fault::not_positive;
      if (op == Op::ceil_div) return value(quotient_up(a, b));
      return overflow(__builtin_mul_overflow(quotient_up(a, b), b, &result));
  }
}

Result<std::int64_t> Expression::evaluate(std::span<const std::int64_t> values) const {
  assert(slots_.empty() || static_cast<std::size_t>(slots_.back()) < values.size());
  std::int64_t stack[kMaxStack];  // left as it is: parse() bounds the depth
  std::int64_t* top = stack;      // one past the last value
  const Instruction* const begin = code_.data();
  const Instruction* const end = begin + code_.size();
  for (const Instruction* at = begin; at != end; ++at) {
    switch (at->op) {
      case Op::push:
        *top++ = at->operand;
        break;
      case Op::load:
        *top++ = values[static_cast<std::size_t>(at->operand)];
        break;
      case Op::jump:
        at = begin + at->operand - 1;
        break;
      case Op::jump_if_false:
        if (*--top == 0) at = begin + at->operand - 1;
        break;
      case Op::jump_if_false_keep:
      case Op::jump_if_true_keep:
        if ((top[-1] != 0) == (at->op == Op::jump_if_true_keep)) {
          at = begin + at->operand - 1;
        } else {
          --top;
        }
        break;
      case Op::negate:
      case Op::logical_not:
      case Op::is_pow2:
      case Op::size_of:
        if (!unary(at->op, top[-1])) return failure(*at, Fault::overflow, 0, top[-1]);
        break;
      default: {
        const std::int64_t b = at->right == Source::stack      ? *--top
                               : at->right == Source::constant ? at->operand
                                                               : values[std::size_t(at->operand)];
        const std::int64_t a = top[-1];
        const Fault fault = binary(at->op, a, b, top[-1]);
        if (fault != Fault::none) [[unlikely]]
          return failure(*at, fault, a, b);
      }
    }
  }
  return stack[0];
}

Status Expression::refusal(std::string message) const {
  return invalid_argument(with_caret(std::move(message), text_, 0, text_.size()));
}

Status Expression::failure(const Instruction& instruction, Fault fault, std::int64_t a,
                           std::int64_t b) const {
  const auto place = static_cast<std::size_t>(instruction.place);
  const std::string word(token_at(text_, place).text);
  std::string message = fmt::format("integer overflow: {} {} {}", a, word, b);
  if (fault == Fault::division_by_zero) {
    message = "division by zero";
  } else if (fault == Fault::not_positive) {
    message = fmt::format("{} needs a positive divisor, got {}", word, b);
  } else if (instruction.op == Op::negate) {
    message = fmt::format("integer overflow: -({})", b);
  } else if (instruction.op == Op::round_up || instruction.op == Op::gcd) {
    message = fmt::format("integer overflow: {}({}, {})", word, a, b);
  }
  return invalid_argument(with_caret(std::move(message), text_, place, word.size()));
}

}  // namespace mgtune

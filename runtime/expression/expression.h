// Expression: the small language of operator files. A text is parsed and type-checked once against
// a Scope. The result is flat bytecode that evaluates in some nanoseconds without allocating.
//
//   64-bit integers, booleans, identifiers      1024  true  VEC  device.cc  cp_async
//   floating numbers and quoted words, which can only be compared with == and !=   0.5  'float4*'
//   + - * / %   == != < <= > >=   && || !   c ? a : b   (precedences of C)
//   min max ceil_div round_up gcd is_pow2 sizeof(dtype) has(tensor)
//
// Division truncates as in C. Overflow, division by zero and domain errors are errors of
// evaluation. Unknown names, wrong types, and comparing a name with a symbol that it can never be
// are errors of parsing. Both kinds of errors show the text with a caret under the place:
//
//   unknown name 'hiden'; did you mean 'hidden'?
//     hiden % VEC == 0
//     ^~~~~
//
// A text has at most 4096 bytes and 64 levels of nesting. Immutable after parse(): any number of
// threads may evaluate.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "expression/interval.h"
#include "expression/scope.h"

namespace mgtune {

class Expression {
 public:
  // invalid_argument if `text` is malformed or does not have the type `expected`, if there is one.
  static Result<Expression> parse(std::string_view text, const Scope& scope,
                                  std::optional<ValueType> expected = std::nullopt);
  static Expression integer(std::int64_t value);
  static Expression boolean(bool value);

  const std::string& text() const { return text_; }
  ValueType type() const { return type_; }
  Stage stage() const { return stage_; }  // the latest stage of its names; compile for a constant
  std::span<const int> slots() const { return slots_; }  // the slots that it reads; sorted, unique

  // `values` must have at least every slot of slots(). Allocates only to describe a failure.
  Result<std::int64_t> evaluate(std::span<const std::int64_t> values) const;

  // An interval that contains every result of evaluate() for values in these intervals. If each
  // interval has one value, the result has no other values, except if a division overflows. It is
  // empty if evaluate() fails for all values. `values` must have at least every slot of slots().
  Interval bounds(std::span<const Interval> values) const;

  // invalid_argument with `message`, then the whole text underlined. For a value that can be
  // evaluated but is not allowed.
  Status refusal(std::string message) const;

 private:
  friend class ExpressionParser;

  enum class Op : std::uint8_t {
    push,
    load,
    jump,
    jump_if_false,       // drops the condition
    jump_if_false_keep,  // keeps the condition if it jumps, otherwise drops it: &&
    jump_if_true_keep,   // the same for ||
    negate,
    logical_not,
    is_pow2,
    size_of,
    add,
    subtract,
    multiply,
    divide,
    modulo,
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    minimum,
    maximum,
    ceil_div,
    round_up,
    gcd,
  };
  // Where a binary operation finds its right side: on the stack, or in the instruction itself,
  // which saves an instruction that pushes it.
  enum class Source : std::uint8_t { stack, constant, slot };

  struct Instruction {
    Op op;
    Source right;
    std::int32_t place;    // offset in text_, for the caret
    std::int64_t operand;  // a constant, a slot, or the target of a jump
  };

  enum class Fault : std::uint8_t { none, overflow, division_by_zero, not_positive };

  static constexpr int kMaxStack = 64;  // words that an evaluation may use; parse() refuses more

  Expression() = default;

  static bool unary(Op op, std::int64_t& value);  // false: overflow
  static Fault binary(Op op, std::int64_t a, std::int64_t b, std::int64_t& result);
  static Interval unary_bounds(Op op, const Interval& a);
  static Interval binary_bounds(Op op, const Interval& a, const Interval& b);
  // The bounds of a part of the code that leaves one value on the stack.
  Interval bounds_of(std::size_t begin, std::size_t end, std::span<const Interval> values) const;
  Status failure(const Instruction& instruction, Fault fault, std::int64_t a, std::int64_t b) const;

  std::string text_;
  ValueType type_ = ValueType::integer;
  Stage stage_ = Stage::compile;
  std::vector<int> slots_;
  std::vector<Instruction> code_;
};

}  // namespace mgtune

// MetricFormula: the formula of a user's metric, for example "flops / ns" for GFLOP/s. Unlike an
// Expression it computes with floating numbers, and it never decides what is built or launched.
//
//   numbers and names              2  0.5  1e9  rows  THREADS  ns
//   + - * /   -x   ( )             (precedences of C; a / b is not rounded)
//   min(a, b, ...)  max(a, b, ...)  sizeof(dtype)  has(tensor)
//
// parse() reports errors with a caret, as Expression does. with_values() replaces the names that a
// problem fixes by their numbers, so that a report can evaluate what is left without the operator's
// file. Immutable after parse(): any number of threads may use it.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/variant_words.h"

namespace mgtune {

class MetricFormula {
 public:
  // Says what is wrong with a name, "" if nothing is. sizeof(T) and has(x) are one name each.
  using CheckName = std::function<std::string(std::string_view name)>;
  // The value of a name; nullopt if it has none.
  using ValueOf = std::function<std::optional<double>(std::string_view name)>;

  // invalid_argument if `text` is malformed or has a name that `check_name` refuses. Without
  // `check_name` every name is accepted.
  static Result<MetricFormula> parse(std::string_view text, const CheckName& check_name = nullptr);

  const std::string& text() const { return text_; }

  // nullopt if a name has no value, or if the result is not a finite number.
  std::optional<double> evaluate(const ValueOf& value_of) const;

  // The value for a variant that took `time_ns`: the names are its parameters (true is 1, false 0)
  // and `ns`. nullopt also if the variant's design has no such parameter.
  std::optional<double> evaluate(const VariantWords& variant, double time_ns) const;

  // The text with each name replaced that has a value: "2 * rows / ns" becomes "2 * 4096 / ns".
  std::string with_values(const ValueOf& value_of) const;

 private:
  friend class MetricParser;

  enum class Op : std::uint8_t {
    push,
    load,
    negate,
    add,
    subtract,
    multiply,
    divide,
    minimum,
    maximum,
  };
  struct Step {
    Op op;
    double number = 0;     // of push
    std::size_t name = 0;  // of load: an index into names_
  };
  struct Name {
    std::string text;
    std::size_t begin = 0, end = 0;  // in text_
  };

  MetricFormula() = default;

  std::string text_;
  std::vector<Step> steps_;  // in postfix order
  std::vector<Name> names_;  // in the order of the text
};

}  // namespace mgtune

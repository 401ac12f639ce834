// VariantPattern: a design with a value for each of its parameters. Some of the values are
// expressions over the problem: "THREADS_PER_ROW = hidden / VEC / 2", "PDL = device.cc >= 90". At
// each problem the pattern is one variant: a number with an expression gets the value of its list
// that is nearest to the value of the expression, and a boolean gets this value. So a few patterns,
// in the default ladder and in rules, fit problems of all sizes and dtypes. Immutable: any number
// of threads may read one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "family/operator.h"
#include "family/variant.h"
#include "json/json_cursor.h"

namespace mgtune {

struct VariantPattern {
  int design = 0;                    // index into Operator::designs
  std::vector<PatternValue> values;  // one per parameter of the design, in order
};

// The variant that the pattern is at a problem with these static dims, dtypes and flags. nullopt if
// an expression cannot be evaluated (a division by zero), or if a boolean is not in the list of its
// parameter.
std::optional<Variant> variant_of(const VariantPattern& pattern, const Binding& binding,
                                  const DeviceLimits& device);

// The pattern that is this variant at every problem.
VariantPattern pattern_of(const Variant& variant);

// "row THREADS_PER_ROW=hidden/VEC/2 ROWS_PER_BLOCK=1 VEC=8": for people, and as an identity.
std::string pattern_text(const Operator& op, const VariantPattern& pattern);

// The value of the list that is nearest to `wanted` as a ratio; of two that are equally near, the
// smaller one. `values` must not be empty, and `wanted` is taken as 1 if it is less.
std::int64_t nearest_value(const std::vector<std::int64_t>& values, std::int64_t wanted);

// The order in which the parameters with expressions can be evaluated: each one after the
// parameters that it names. invalid_argument, with their names, if expressions need each other.
Result<std::vector<std::size_t>> evaluation_order(const Design& design,
                                                  const std::vector<PatternValue>& values);

// Numbers and booleans can have an expression in place of a value. An identifier cannot: its text
// is the value itself.
bool is_expression_of(const Parameter& parameter, const JsonCursor& cursor);

// An expression for a parameter. invalid_argument, with file and place, if it has another type, or
// needs a let or a value that is not known when a variant is compiled.
Result<PatternValue> decode_pattern_expression(const JsonCursor& cursor, const Design& design,
                                               const Parameter& parameter);

// Reads a design's name and an object with a value or an expression for each parameter.
// invalid_argument, with file and place, for what the operator does not have.
Result<VariantPattern> decode_pattern(const JsonCursor& design, const JsonCursor& parameters,
                                      const Operator& op);

}  // namespace mgtune

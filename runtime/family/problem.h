// Binding and Problem: an operator with some or all of its free names fixed.
//
// A Binding fixes everything that is compiled in: static dims, dtypes, flags, and which optional
// tensors are present. A Problem also fixes the dynamic and hint dims. Both have one canonical
// text, which is their identity in the store: "hidden=4096 T=bf16", "rows=4096 hidden=4096 T=bf16
// rstd=true". The text leaves out dims and dtypes with their default value, false flags and absent
// optional tensors.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "family/operator.h"

namespace mgtune {

// Values by the slots of the operator's scope. Slots that are not bound yet are 0.
using Slots = std::vector<std::int64_t>;

struct Binding {
  const Operator* op = nullptr;  // must outlive the binding
  Slots slots;                   // of op->scope: static dims, dtypes, flags, has(...)

  std::string text() const;
};

struct Problem {
  const Operator* op = nullptr;  // must outlive the problem
  Slots slots;                   // as in Binding, and also every dim

  Binding binding() const;  // without the dynamic and hint dims
  std::string text() const;
  std::int64_t dim(std::string_view name) const;  // the operator must have this name
};

// Binds words from a command line, JSON or a C caller. Defaults fill missing dims and dtypes.
// Missing flags and optional tensors are false. invalid_argument, naming the word, for an unknown
// name (with a suggestion), a missing or negative dim, a value that cannot be parsed, a dtype that
// the operator does not offer, or a violated constraint of the operator.
//
// bind_static accepts no dynamic or hint dim. It checks the constraints that need none of them.
Result<Problem> bind_problem(const Operator& op, const ProblemValues& values);
Result<Binding> bind_static(const Operator& op, const ProblemValues& values);

// Splits "rows=4096,hidden=4096" (commas or spaces) into words. invalid_argument if a part has no
// '='.
Result<ProblemValues> parse_assignments(std::string_view text);

// The words that bind_problem() accepts, in canonical order: dims, dtypes, flags, optional tensors.
std::vector<std::string> problem_words(const Operator& op);

// A value of the dim for messages: that of the operator's first problem, otherwise "4096".
std::string example_of(const Operator& op, const Dim& dim);

// The problem of `binding` with its dynamic and hint dims set: `dims` by name, defaults for the
// rest. invalid_argument for a static dim, and as for bind_problem().
Result<Problem> complete(const Binding& binding, const std::map<std::string, std::int64_t>& dims);

}  // namespace mgtune

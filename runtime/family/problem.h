// Binding and Problem: an operator with some or all of its free names fixed.
//
// A Binding fixes what is compiled in: static dims, dtypes, flags, and which optional tensors are
// there. A Problem fixes the dynamic and hint dims as well. Both have one canonical text, which is
// their identity in the store: "hidden=4096 T=bf16", "rows=4096 hidden=4096 T=bf16 rstd=true".
// A dim or dtype that has its default value, a false flag and an absent optional tensor are left
// out.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "family/operator.h"

namespace mgtune {

// Values by the operator's scope slots; slots that are not bound yet hold 0.
using Slots = std::vector<std::int64_t>;

struct Binding {
  const Operator* op = nullptr;  // outlives this
  Slots slots;                   // of op->scope: static dims, dtypes, flags, has(...)

  std::string text() const;
};

struct Problem {
  const Operator* op = nullptr;  // outlives this
  Slots slots;                   // every dim as well

  Binding binding() const;  // dynamic and hint dims forgotten
  std::string text() const;
  std::int64_t dim(std::string_view name) const;  // of a name that the operator has
};

// Binds words as they come from a command line, JSON or a C caller. Defaults fill missing dims and
// dtypes; missing flags and optional tensors are false. invalid_argument, naming the word, for an
// unknown name (with a suggestion), a missing or negative dim, an unparsable value, a dtype the
// operator does not offer, or a violated operator constraint.
//
// bind_static takes no dynamic or hint dim, and checks the constraints that need none.
Result<Problem> bind_problem(const Operator& op, const std::map<std::string, std::string>& values);
Result<Binding> bind_static(const Operator& op, const std::map<std::string, std::string>& values);

// "rows=4096,hidden=4096" (commas or spaces) -> words; invalid_argument when a part has no '='.
Result<std::map<std::string, std::string>> parse_assignments(std::string_view text);

// The words that bind_problem() takes, in canonical order: dims, dtypes, flags, optional tensors.
std::vector<std::string> problem_words(const Operator& op);

// The problem of `binding` with its dynamic and hint dims set: `dims` by name, defaults for
// the rest. invalid_argument for a static dim, and as bind_problem().
Result<Problem> complete(const Binding& binding, const std::map<std::string, std::int64_t>& dims);

}  // namespace mgtune

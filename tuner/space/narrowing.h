// Narrowing: the conditions of a user (`--where 'THREADS <= 256'`) that restrict a space to a part
// of it. They are expressions like the constraints of an operator's file. Immutable, so any number
// of threads may read it.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "expression/expression.h"
#include "family/operator.h"

namespace mgtune {

struct Narrowing {
  // The conditions of each design of the operator, in order. All of them must be true. If a design
  // lacks a name that a condition uses, it gets the condition `false` instead, so it has no
  // variant.
  struct Condition {
    Expression expression;
    std::string text;  // the name under which the statistics of the space count what it excludes
  };
  std::vector<std::vector<Condition>> designs;
};

// invalid_argument, with a caret under the place, if one of the conditions fits no design of the
// operator, or if it needs a value that is known only after a build is loaded.
Result<Narrowing> parse_narrowing(const Operator& op, const std::vector<std::string>& conditions);

}  // namespace mgtune

// Narrowing: conditions of a user (`--where 'THREADS <= 256'`) that leave a part of a space. They
// are expressions like the constraints of an operator's file. Immutable, so any number of threads
// may read it.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "expression/expression.h"
#include "family/operator.h"

namespace mgtune {

struct Narrowing {
  // Per design of the operator, in order. All conditions must be true. A design that lacks a name
  // of a condition has the condition `false` in its place, so it has no variant.
  struct Condition {
    Expression expression;
    std::string text;  // as the statistics of the space name what it excludes
  };
  std::vector<std::vector<Condition>> designs;
};

// invalid_argument, with a caret under the place, if no design of the operator can have one of the
// conditions, or if it needs a value that is known only after a build is loaded.
Result<Narrowing> parse_narrowing(const Operator& op, const std::vector<std::string>& conditions);

}  // namespace mgtune

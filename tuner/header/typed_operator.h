// typed_operator(): the part of a typed header that belongs to one operator. Pure function.

#pragma once

#include <string>

#include "core/status.h"
#include "family/operator.h"

namespace mgtune {

struct TypedOperator {
  std::string c;    // types and functions
  std::string cpp;  // launches with spans
};

Result<TypedOperator> typed_operator(const Operator& op);

}  // namespace mgtune

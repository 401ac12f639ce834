// typed_header(): a C and C++ header with typed functions for operators, over mgruntime.h. For each
// operator and each combination of its dtypes it has a type of plans, a function that makes one,
// and one that launches it: dims in a struct, tensors as pointers to their elements, scalars by
// name. In C++20 there is also a launch function that takes spans; it refuses a span that is too
// short. Pure function.

#pragma once

#include <span>
#include <string>

#include "core/status.h"
#include "family/operator.h"

namespace mgtune {

// `file` is the name of the header ("ops.h"), for its include guard. `command` is the command that
// made the header. The names of types and functions begin with FAMILY_OPERATOR. invalid_argument if
// two names of an operator would become the same name in C.
Result<std::string> typed_header(std::span<const Operator* const> operators,
                                 const std::string& file, const std::string& command);

}  // namespace mgtune

// The struct `Problem` through which reference and fill kernels get an operator's dims (long long),
// scalars (in their dtypes) and flags (bool), each as a member of its own name. Pure functions.

#pragma once

#include <cstdint>
#include <vector>

#include "core/dtype.h"
#include "family/operator.h"
#include "family/problem.h"
#include "family/source_tree.h"

namespace mgtune {

// The operator's sources and one more, kReferenceUnit. It defines `Problem` and includes the file
// of the reference, and is what is compiled.
inline constexpr char kReferenceUnit[] = "mgtune_reference.cu";
SourceTree reference_sources(const Operator& op);

// A `Problem` as kernels take it by value; `scalars` in declared order.
std::vector<std::uint8_t> problem_struct(const Problem& problem,
                                         const std::vector<ScalarValue>& scalars);

}  // namespace mgtune

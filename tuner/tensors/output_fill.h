// Inputs that are outputs of another operator: {"op": "rmsnorm.forward", "output": "rstd"}. The
// other operator's reference computes them from the tensors that both operators name alike, and
// from fills of its own for those that the problem has not; so inputs that one operator gave stay
// consistent with each other.
//
// The other operator's problem takes its dims, dtypes, flags and scalars from this one by name. Not
// thread-safe.

#pragma once

#include <cstdint>
#include <vector>

#include "build/builder.h"
#include "tensors/problem_tensors.h"
#include "tensors/tensor_layout.h"
#include "core/scalar_value.h"
#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"

namespace mgtune {

// Gives every such tensor its content; all others have theirs already. `scalars` are the problem's.
// unsupported, naming the tensor, where the other operator is neither of the family nor shipped;
// invalid_argument where it cannot be bound, or its output has another shape or dtype.
Status fill_from_outputs(Device& device, Builder& builder, const Problem& problem,
                         const std::vector<TensorLayout>& layouts,
                         const std::vector<ScalarValue>& scalars, std::uint64_t seed,
                         ProblemTensors& tensors);

// The operator that a tensor's fill names, of the same family or a shipped one.
Result<Operator> fill_source(const Operator& op, const Tensor& tensor);

}  // namespace mgtune

// Fills inputs that are outputs of another operator: {"op": "rmsnorm.forward", "output": "rstd"}.
// The reference of the other operator computes them. Its inputs are the problem's tensors with the
// same names; if the problem does not have a tensor, the other operator's own fill is used. So
// inputs that come from one operator stay consistent with each other.
//
// The problem of the other operator takes its dims, dtypes, flags and scalars from this one by
// name. Not thread-safe.

#pragma once

#include <cstdint>
#include <vector>

#include "build/builder.h"
#include "core/dtype.h"
#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"
#include "tensors/problem_tensors.h"
#include "tensors/tensor_layout.h"

namespace mgtune {

// Fills every such tensor. All other tensors already have their content. `scalars` are the
// problem's. unsupported, naming the tensor, if the other operator neither belongs to the family
// nor is shipped. invalid_argument if the other operator cannot be bound, or if its output has
// another shape or dtype.
Status fill_from_outputs(Device& device, Builder& builder, const Problem& problem,
                         const std::vector<TensorLayout>& layouts,
                         const std::vector<ScalarValue>& scalars, std::uint64_t seed,
                         ProblemTensors& tensors);

// The operator that a tensor's fill names, of the same family or a shipped one.
Result<Operator> fill_source(const Operator& op, const Tensor& tensor);

}  // namespace mgtune

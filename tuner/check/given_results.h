// Reference results that no kernel computes: they come from arrays in files, or from a program of
// the user.
//
// The program is run in the family's folder. Its last argument is a temporary folder, which is
// removed afterwards. This folder has a file NAME.npy for each present input, and problem.json with
// dims, dtypes, flags, scalars, and the dtype and shape of each output. The program writes NAME.npy
// for each present output. kernels/README.md describes this for users.

#pragma once

#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/status.h"
#include "family/problem.h"
#include "tensors/problem_tensors.h"
#include "tensors/tensor_layout.h"

namespace mgtune {

// Whether the operator's reference is of this kind.
bool has_given_results(const Check& check);

// "kernels/blur/image.json: /check/reference", for messages.
std::string given_results_text(const Operator& op);

// The results per tensor, in row-major order; empty for inputs and absent tensors. `scalars` are
// the problem's. invalid_argument, naming the file or the program, if a result is missing or has
// another shape, or if the program fails; the message then has the program's output. timeout if the
// program takes too long.
Result<std::vector<std::vector<double>>> given_results(const Problem& problem,
                                                       const std::vector<TensorLayout>& layouts,
                                                       const std::vector<ScalarValue>& scalars,
                                                       const ProblemTensors& tensors);

// The elements of a tensor's content in row-major order, without padding.
Bytes packed_elements(const TensorLayout& layout, const Bytes& image);

}  // namespace mgtune

// family_from_kernel(): writes a first family for an existing kernel. The dims, tensors, scalars
// and arguments come from the signature; the space comes from template parameters and macros. Facts
// that a signature does not say, such as shapes and the formula of the reference, are guessed and
// listed in NewFamily::to_decide. The reference is a skeleton that gives NaN. Pure function.

#pragma once

#include <map>
#include <string>

#include "core/status.h"
#include "scaffold/cuda_source.h"
#include "scaffold/new_family.h"

namespace mgtune {

// `kernel` names the kernel if the file has several; it may be "" if the file has only one.
// `family` is the name of the new family, for messages.
//
//  - invalid_argument: the file has no __global__ function, has several and `kernel` is "", or has
//    nothing that the kernel could write.
//  - not_found: the file has no kernel with this name.
//  - unsupported: an operator file cannot pass a parameter; the message has file, line, parameter.
Result<NewFamily> family_from_kernel(const CudaSource& source, const std::string& kernel,
                                     const std::string& family);

}  // namespace mgtune

// family_from_kernel(): a first family for a kernel that exists. Its dims, tensors, scalars and
// arguments come from the signature; its space from template parameters and macros. What no
// signature says, such as shapes and the formula of the reference, is guessed and listed in
// NewFamily::to_decide. The reference is a skeleton that gives NaN. Pure function.

#pragma once

#include <map>
#include <string>

#include "core/status.h"
#include "scaffold/cuda_source.h"
#include "scaffold/new_family.h"

namespace mgtune {

// `kernel` chooses one if the file has several; "" if it has one. `family` is the name of the new
// family, for messages.
//
//  - invalid_argument: the file has no __global__ function, has several and `kernel` is "", or
//    nothing that the kernel could write.
//  - not_found: it has no kernel of that name.
//  - unsupported: an operator file cannot pass a parameter; the message has file, line, parameter.
Result<NewFamily> family_from_kernel(const CudaSource& source, const std::string& kernel,
                                     const std::string& family);

}  // namespace mgtune

// Finds the names of kernels in an operator file that no __global__ function of the sources has:
// kernels of launches, references, baselines and fills. Nothing is compiled. Pure functions.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "family/operator.h"

namespace mgtune {

struct UnknownKernel {
  std::string design;  // "" for a kernel of the reference
  std::string text;    // "FILE:LINE: POINTER: no kernel 'scal' in scale.cu; did you mean 'scale'?"
};

std::vector<UnknownKernel> unknown_kernels(const Operator& op);

// What may help to find a wrong result of a design: "kernel scale at scale/scale.cu:8", and
// args that have the names of each other's parameters.
std::string kernel_places(const Operator& op, const Design& design);

}  // namespace mgtune

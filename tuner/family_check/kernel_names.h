// Finds misspelt kernels: names in an operator file (of launches, references, baselines and fills)
// for which the sources have no __global__ function. Nothing is compiled. Pure functions.

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

// A text that may help to find the cause of a design's wrong result: "kernel scale at
// scale/scale.cu:8", and args that seem to be swapped, because each has the name of the other one's
// parameter.
std::string kernel_places(const Operator& op, const Design& design);

}  // namespace mgtune

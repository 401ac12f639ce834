// device_part(): removes from a CUDA file what NVRTC does not compile: host functions such as
// main(), and includes of host headers. If the file uses a name such as INFINITY, which nvcc knows
// and NVRTC does not, <mg/limits.cuh> takes the place of a removed include. Dynamic shared memory
// in kernels is replaced by mg::dynamic_shared(), and <mg/shared.cuh> is included for it in the
// same way. Lines keep their numbers, unless too few includes are removed: then the new includes
// come first in the file. Pure function.

#pragma once

#include <set>
#include <string>
#include <vector>

#include "scaffold/cuda_source.h"

namespace mgtune {

struct DevicePart {
  std::string text;
  std::vector<std::string> removed;   // "main (line 40)", "#include <vector> (line 3)"
  std::vector<std::string> included;  // "shapes.h": the quoted includes, as written
};

// The #defines of `macros` are removed too, because the compiler gets these macros by -D.
DevicePart device_part(const CudaSource& source, const std::set<std::string>& macros = {});

}  // namespace mgtune

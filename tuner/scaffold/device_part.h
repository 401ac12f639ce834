// device_part(): a CUDA file without what NVRTC does not compile: functions of the host such as
// main(), and includes of host headers. <mg/limits.cuh> replaces the first of these if the file
// uses a name such as INFINITY, which nvcc knows and NVRTC does not. mg::dynamic_shared() of
// <mg/shared.cuh> replaces dynamic shared memory in kernels. Lines keep their numbers, unless a
// file with too few such includes gets these in front. Pure function.

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

// `macros`: their #define is left out too, because the compiler gets them by -D.
DevicePart device_part(const CudaSource& source, const std::set<std::string>& macros = {});

}  // namespace mgtune

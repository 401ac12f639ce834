// device_part(): a CUDA file without what NVRTC does not compile: functions of the host such as
// main(), and includes of host headers. Lines keep their numbers. Pure function.

#pragma once

#include <string>
#include <vector>

#include "scaffold/cuda_source.h"

namespace mgtune {

struct DevicePart {
  std::string text;
  std::vector<std::string> removed;   // "main (line 40)", "#include <vector> (line 3)"
  std::vector<std::string> included;  // "shapes.h": the quoted includes, as written
};

DevicePart device_part(const CudaSource& source);

}  // namespace mgtune

// Arrays of dynamic shared memory in kernels: `extern __shared__ float tile[];`. The cpu device
// knows this memory only as mg::dynamic_shared<float>(), so `mgtune new --from` writes that
// instead. Pure functions; plain data.

#pragma once

#include <string>
#include <vector>

#include "scaffold/cuda_source.h"

namespace mgtune {

struct DynamicShared {
  std::string type, name;  // "float", "tile"
  int line = 0;
  std::size_t begin = 0, end = 0;  // offsets of the declaration in CudaSource::text

  std::string replacement() const;  // "float* tile = mg::dynamic_shared<float>();"
};

// Those in the bodies of kernels, in order. One at the level of the file is not among them: a
// function call cannot replace it.
std::vector<DynamicShared> find_dynamic_shared(const CudaSource& source);

}  // namespace mgtune

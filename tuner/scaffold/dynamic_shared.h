// Arrays of dynamic shared memory in kernels: `extern __shared__ float tile[];`. On the cpu device,
// kernels can reach this memory only through mg::dynamic_shared<float>(), so `mgtune new --from`
// writes this call instead. Pure functions; plain data.

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

// The arrays that are declared in the bodies of kernels, in order. An array that is declared
// outside of functions is not included, because a function call cannot replace it.
std::vector<DynamicShared> find_dynamic_shared(const CudaSource& source);

}  // namespace mgtune

// The CUDA Toolkit's headers that kernels may include: cuda_fp16.h, cuda_bf16.h, cuda_fp8.h. The
// result depends on the file system and the environment. Callable from any thread.

#pragma once

#include <string>

#include "core/status.h"
#include "system/file_system.h"

namespace mgtune {

struct CudaHeaders {
  std::string folder;
  std::string sha256;  // of those headers: part of every build's key
};

// Looks in $CUDA_HOME/include, the folder that this program was built with, and
// /usr/local/cuda/include. environment if none has the headers, naming the folders.
Result<CudaHeaders> find_cuda_headers(FileSystem& file_system);

}  // namespace mgtune

// The CUDA Toolkit's headers that kernels may include: cuda_fp16.h, cuda_bf16.h, cuda_fp8.h. A
// function of the file system and the environment; from any thread.

#pragma once

#include <string>

#include "system/file_system.h"
#include "core/status.h"

namespace mgtune {

struct CudaHeaders {
  std::string folder;
  std::string sha256;  // of those headers: part of every build's key
};

// In $CUDA_HOME/include, the folder that this program was built with, /usr/local/cuda/include.
// environment when none has them, naming the folders.
Result<CudaHeaders> find_cuda_headers(FileSystem& file_system);

}  // namespace mgtune

// The functions of libcuda that the stand-in does not have: there, and refusing. Weak, so that
// those of stand_in_cuda.cpp go before them.

#include "device/cuda/cuda_driver.h"

#define MGTUNE_UNUSED(function, symbol)                   \
  extern "C" __attribute__((weak, visibility("default"))) \
  CUresult unused_##function() asm(symbol);               \
  CUresult unused_##function() { return CUDA_ERROR_NOT_SUPPORTED; }
MGTUNE_CUDA_FUNCTIONS(MGTUNE_UNUSED)

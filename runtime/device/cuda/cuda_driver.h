// CudaDriver: the functions of libcuda that mgtune calls, opened at run time, so that the program
// starts on machines without a driver. One table per process. Immutable; usable from any thread.

#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>

#include "core/status.h"
#include "system/shared_library.h"

// The functions that mgtune calls, each with its symbol in libcuda. A function may have several
// symbols (cuEventElapsedTime_v2). We use the oldest one that has the type that cuda.h declares.
// cuda.h itself would use the newest: a program that is built with the headers of CUDA 13 would
// need cuEventElapsedTime_v2, which drivers before 12.8 do not have.
#define MGTUNE_CUDA_FUNCTIONS(X)                                                                \
  X(cuInit, "cuInit")                                                                           \
  X(cuDriverGetVersion, "cuDriverGetVersion")                                                   \
  X(cuGetErrorName, "cuGetErrorName")                                                           \
  X(cuGetErrorString, "cuGetErrorString")                                                       \
  X(cuDeviceGetCount, "cuDeviceGetCount")                                                       \
  X(cuDeviceGet, "cuDeviceGet")                                                                 \
  X(cuDeviceGetName, "cuDeviceGetName")                                                         \
  X(cuDeviceGetUuid, "cuDeviceGetUuid_v2")                                                      \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute")                                               \
  X(cuDeviceTotalMem, "cuDeviceTotalMem_v2")                                                    \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain")                                       \
  X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2")                                  \
  X(cuCtxGetCurrent, "cuCtxGetCurrent")                                                         \
  X(cuCtxSetCurrent, "cuCtxSetCurrent")                                                         \
  X(cuCtxSynchronize, "cuCtxSynchronize")                                                       \
  X(cuMemAlloc, "cuMemAlloc_v2")                                                                \
  X(cuMemFree, "cuMemFree_v2")                                                                  \
  X(cuMemGetInfo, "cuMemGetInfo_v2")                                                            \
  X(cuMemHostAlloc, "cuMemHostAlloc")                                                           \
  X(cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2")                                  \
  X(cuMemFreeHost, "cuMemFreeHost")                                                             \
  X(cuMemcpyHtoD, "cuMemcpyHtoD_v2")                                                            \
  X(cuMemcpyDtoH, "cuMemcpyDtoH_v2")                                                            \
  X(cuMemcpyAsync, "cuMemcpyAsync")                                                             \
  X(cuMemsetD8Async, "cuMemsetD8Async")                                                         \
  X(cuLibraryLoadData, "cuLibraryLoadData")                                                     \
  X(cuLibraryUnload, "cuLibraryUnload")                                                         \
  X(cuLibraryGetKernel, "cuLibraryGetKernel")                                                   \
  X(cuLibraryGetGlobal, "cuLibraryGetGlobal")                                                   \
  X(cuKernelGetFunction, "cuKernelGetFunction")                                                 \
  X(cuKernelGetAttribute, "cuKernelGetAttribute")                                               \
  X(cuKernelSetAttribute, "cuKernelSetAttribute")                                               \
  X(cuKernelGetParamInfo, "cuKernelGetParamInfo")                                               \
  X(cuFuncLoad, "cuFuncLoad")                                                                   \
  X(cuLaunchKernelEx, "cuLaunchKernelEx")                                                       \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor") \
  X(cuOccupancyMaxActiveClusters, "cuOccupancyMaxActiveClusters")                               \
  X(cuStreamCreate, "cuStreamCreate")                                                           \
  X(cuStreamDestroy, "cuStreamDestroy_v2")                                                      \
  X(cuStreamSynchronize, "cuStreamSynchronize")                                                 \
  X(cuStreamWaitValue32, "cuStreamWaitValue32_v2")                                              \
  X(cuEventCreate, "cuEventCreate")                                                             \
  X(cuEventDestroy, "cuEventDestroy_v2")                                                        \
  X(cuEventRecord, "cuEventRecord")                                                             \
  X(cuEventSynchronize, "cuEventSynchronize")                                                   \
  X(cuEventElapsedTime, "cuEventElapsedTime")                                                   \
  X(cuStreamBeginCapture, "cuStreamBeginCapture_v2")                                            \
  X(cuStreamEndCapture, "cuStreamEndCapture")                                                   \
  X(cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode")                     \
  X(cuGraphInstantiate, "cuGraphInstantiateWithFlags")                                          \
  X(cuGraphLaunch, "cuGraphLaunch")                                                             \
  X(cuGraphDestroy, "cuGraphDestroy")                                                           \
  X(cuGraphExecDestroy, "cuGraphExecDestroy")                                                   \
  X(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled")

namespace mgtune {

std::string cuda_version_text(int version);  // "13.0" for 13000

struct CudaDriver {
  std::string path;  // of libcuda
  int version = 0;   // 13000 for CUDA 13.0

  MGTUNE_CUDA_FUNCTIONS(MGTUNE_DECLARE_FUNCTION)

  // ok for CUDA_SUCCESS. device_lost after a fault of a kernel that ends this process's use of the
  // device. environment if the machine or another process is at fault (no memory, an uncorrectable
  // memory error). Otherwise launch_failed. The message reads "what: CUDA_ERROR_NAME: its text".
  Status status(CUresult result, const char* what) const;

  // The free memory of the GPU whose context is current on this thread.
  Result<std::int64_t> free_bytes() const;
};

// Opened and initialized once per process (cuInit; no context is made). environment if there is no
// driver, if it has no usable GPU, or if it is older than CUDA 12.4, each with its own message.
const Result<CudaDriver>& cuda_driver();

// The same with a given loader, for tests.
Result<CudaDriver> open_cuda_driver(LibraryLoader& loader);

}  // namespace mgtune

// CudaDevice: a CUDA GPU behind the Device interface. It uses the GPU's primary context, so that it
// shares memory and streams with everything else in the process (PyTorch, the CUDA runtime).
//
// Every call makes the context current on its thread, and leaves it current.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/cuda/cuda_driver.h"
#include "device/device.h"

namespace mgtune {

struct CudaDevices {
  std::vector<DeviceInfo> devices;    // by ordinal
  std::vector<std::string> failures;  // of GPUs that cannot be described: "GPU 2: ..."
};

// All GPUs that the driver shows. Makes no context. A GPU that fails hides no other.
Result<CudaDevices> list_cuda_devices(const CudaDriver& driver);

// Retains the primary context of the GPU with this ordinal. `driver` must outlive the device.
Result<std::unique_ptr<Device>> open_cuda_device(const CudaDriver& driver, int index);

// Loads a cubin. Every kernel may use all the shared memory of a block, and clusters above the
// portable size.
Result<std::unique_ptr<Module>> load_cuda_module(const CudaDriver& driver, CUdevice device,
                                                 const DeviceLimits& limits, const Build& build);

// The CUkernel of a Kernel, for code that needs the driver's own handle.
CUkernel cuda_kernel_handle(const Kernel& kernel);

}  // namespace mgtune

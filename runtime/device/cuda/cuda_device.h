// CudaDevice: a CUDA GPU behind the Device interface, in its primary context, so that it shares
// memory and streams with whatever else the process runs (PyTorch, the CUDA runtime).
//
// Every call makes the context current on its thread where it is not, and leaves it so.

#pragma once

#include <memory>
#include <vector>

#include "core/status.h"
#include "device/cuda/cuda_driver.h"
#include "device/device.h"

namespace mgtune {

// Every GPU the driver shows, by ordinal. Makes no context.
Result<std::vector<DeviceInfo>> list_cuda_devices(const CudaDriver& driver);

// Retains the primary context of the GPU with this ordinal. `driver` outlives the device.
Result<std::unique_ptr<Device>> open_cuda_device(const CudaDriver& driver, int index);

// A CUkernel behind Kernel, for whoever needs the driver's own handle.
CUkernel cuda_kernel_handle(const Kernel& kernel);

}  // namespace mgtune

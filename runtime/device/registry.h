// The devices of this machine, and how the word of a user (`--gpu`) names them. Thread-safe;
// device.h says what a single device allows.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "device/gpu_catalog.h"

namespace mgtune {

// All devices of this machine, GPUs first, then cpu. Creates no CUDA context, but starts the driver
// and loads the library of the cpu device.
std::vector<DeviceInfo> list_devices();

// The GPUs that the driver counts but cannot describe, each with the reason: "GPU 2: ...".
// list_devices() leaves them out.
std::vector<std::string> failing_gpus();

// What `--gpu` takes: a product name or alias of configs/gpus ("L4", "H200": the first such GPU), a
// CUDA index, a UUID, several of these with commas between them, "all" (every GPU), "cpu", or
// "auto" (the first GPU if there is one, otherwise cpu). environment if the machine does not have
// the named device, listing those that it has. invalid_argument with "did you mean" for an unknown
// name. "cpu" does not start the driver, and the name of an existing GPU does not load the cpu
// device.
Result<std::vector<DeviceInfo>> select_devices(const std::string& word);

// Like select_devices(), but for a machine with `devices`, and with `products` as the known
// products.
Result<std::vector<DeviceInfo>> select_among(const std::vector<DeviceInfo>& devices,
                                             const std::vector<GpuProduct>& products,
                                             const std::string& word);

// "; did you mean 'L4'?" for the product, or the one of `names`, that is nearest to a misspelt
// word. "" if none is near.
std::string suggest_gpu(const std::string& word, const std::vector<GpuProduct>& products,
                        std::vector<std::string> names);

// Opens a device by DeviceInfo::id: a GPU in its primary context, or the cpu device. The cpu device
// is a plugin library beside this binary. If it cannot be loaded: environment, naming where it was
// looked for.
Result<std::unique_ptr<Device>> open_device(const std::string& id);

}  // namespace mgtune

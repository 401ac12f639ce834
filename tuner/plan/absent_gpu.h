// GPUs that are not in this machine, for plans that run nothing: their limits come from
// configs/gpus. Pure, except for select_devices_or_product(), which looks at the machine.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "device/gpu_catalog.h"

namespace mgtune {

// The bytes of shared memory that a block may have with opt-in. The numbers come from the table of
// compute capabilities in the CUDA C++ Programming Guide.
std::int64_t max_shared_bytes(std::int64_t capability);

// The limits of a product, from its data sheet and its architecture. The id is "".
DeviceInfo device_of(const GpuProduct& product);

bool is_absent(const DeviceInfo& device);  // whether device_of(const GpuProduct&) made it

// Like select_devices(), but a product of configs/gpus need not be in this machine.
Result<std::vector<DeviceInfo>> select_devices_or_product(const std::string& word);

}  // namespace mgtune

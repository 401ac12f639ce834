// A GPU to compile for, which need not be in this machine: its limits are those of the product
// with this architecture that configs/gpus has, as far as they are known. Pure functions.

#pragma once

#include <string>

#include "core/status.h"
#include "device/device.h"

namespace mgtune {

// "sm_90" or "sm_90a". invalid_argument for another word.
Result<DeviceInfo> target_device(const std::string& arch);

}  // namespace mgtune

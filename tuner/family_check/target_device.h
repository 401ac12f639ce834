// A GPU to compile for, which need not be in this machine. Its SM count and the size of its L2
// cache come from a product of configs/gpus with the same architecture, if there is one. Pure
// functions.

#pragma once

#include <string>

#include "core/status.h"
#include "device/device.h"

namespace mgtune {

// "sm_90" or "sm_90a". invalid_argument for another word.
Result<DeviceInfo> target_device(const std::string& arch);

}  // namespace mgtune

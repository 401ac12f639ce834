// The device that a compile worker compiles for, as the word that starts the worker. So no compile
// worker asks a driver: that takes long where sixteen do it at once, and none of them launches.
// Both functions are pure.

#pragma once

#include <string>

#include "core/status.h"
#include "device/device.h"

namespace mgtune {

// {"id": "GPU-...", "arch": "sm_90", "compute_capability": 90, ...}: what a build depends on, and
// the id that requests name.
std::string compile_target_word(const DeviceInfo& device);

// The same, the rest of it empty; invalid_argument for anything else.
Result<DeviceInfo> decode_compile_target(const std::string& word);

}  // namespace mgtune

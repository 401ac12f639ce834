// The device that a compile worker compiles for, as one word of the command that starts the worker.
// A compile worker launches nothing, so it need not ask the driver about the device; sixteen
// workers that ask at once wait long. Both functions are pure.

#pragma once

#include <string>

#include "core/status.h"
#include "device/device.h"

namespace mgtune {

// {"id": "GPU-...", "arch": "sm_90", "compute_capability": 90, ...}: everything that a build
// depends on, and the id that requests name.
std::string compile_target_word(const DeviceInfo& device);

// The device of such a word, its other fields empty; invalid_argument for any other word.
Result<DeviceInfo> decode_compile_target(const std::string& word);

}  // namespace mgtune

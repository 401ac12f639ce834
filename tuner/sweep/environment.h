// What may change between two runs on one device, as the store keeps it. Both functions may be
// called from any thread.

#pragma once

#include "core/status.h"
#include "device/device.h"
#include "store/records.h"

namespace mgtune {

// Starts the compiler of the device once, for its identity; environment when there is none.
Result<EnvironmentRecord> describe_environment(const DeviceInfo& device);

}  // namespace mgtune

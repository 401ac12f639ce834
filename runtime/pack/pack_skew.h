// Whether the builds of a pack run on a device. The driver may be older than their compiler, and a
// host library needs the toolchain that made it. Asks the toolchain of the cpu device; otherwise
// pure.

#pragma once

#include <string>

#include "core/status.h"
#include "device/device.h"
#include "pack/pack.h"

namespace mgtune {

// 13000 for the identity of NVRTC 13.0; 0 if the identity does not have a version.
std::int64_t cuda_version_of(const std::string& compiler_identity);

// incompatible, saying which side is too old or different. ok for a pack without builds.
Status check_builds_run(const Pack& pack, const DeviceInfo& device);

}  // namespace mgtune

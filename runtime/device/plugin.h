// The entry point of a device plugin library (libmgruntime-cpu.so). Plugin and host program must be
// built from the same sources by the same compiler: `build_id` is compared before anything else.
// The functions are thread-safe; devices are as device.h says.

#pragma once

#include <memory>

#include "device/device.h"

namespace mgtune {

inline constexpr char kDevicePluginSymbol[] = "mgtune_device_plugin";

struct DevicePlugin {
  const char* build_id;  // MGTUNE_BUILD_ID, which every target that links `device` is given
  DeviceInfo (*info)();  // without opening the device
  Status (*open)(std::unique_ptr<Device>* device);
};

using DevicePluginFunction = const DevicePlugin* (*)();

}  // namespace mgtune

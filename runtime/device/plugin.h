// The entry point of a device plugin library (libmgruntime-cpu.so). The plugin and the program must
// be built from the same sources by the same compiler: `build_id` is compared before anything else.
// The functions are thread-safe; device.h says what holds for devices.

#pragma once

#include <memory>

#include "device/device.h"

namespace mgtune {

inline constexpr char kDevicePluginSymbol[] = "mgtune_device_plugin";

struct DevicePlugin {
  const char* build_id;  // MGTUNE_BUILD_ID, which is defined for every target that links `device`
  DeviceInfo (*info)();  // without opening the device
  Status (*open)(std::unique_ptr<Device>* device);
};

using DevicePluginFunction = const DevicePlugin* (*)();

}  // namespace mgtune

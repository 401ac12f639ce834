// The entry point of a device plugin library (libmgruntime-cpu.so). The plugin and the program must
// be built from the same sources by the same compiler: `build_id` is compared before anything else.
// The functions are thread-safe; device.h has the rules for the devices. A loaded library is never
// unloaded, because its devices use its code and data.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device.h"

namespace mgtune {

inline constexpr char kDevicePluginSymbol[] = "mgtune_device_plugin";

struct DevicePlugin {
  const char* build_id;  // MGTUNE_BUILD_ID, which is defined for every target that links `device`
  DeviceInfo (*info)();  // without opening the device
  Status (*open)(std::unique_ptr<Device>* device);
};

using DevicePluginFunction = const DevicePlugin* (*)();

// The places where libmgruntime-cpu.so may be, in the order of looking: only $MGTUNE_CPU_PLUGIN if
// it is set; otherwise beside the library or program that contains this code, beside the running
// program, and in ../lib of both.
std::vector<std::string> cpu_plugin_places();

// Loads the plugin in the first of `places` that has a file. Its symbols are visible to libraries
// that are loaded later, because kernels call into it. environment if there is none, if it does not
// load, or if it was built from other sources than this program.
Result<const DevicePlugin*> load_device_plugin(const std::vector<std::string>& places);

}  // namespace mgtune

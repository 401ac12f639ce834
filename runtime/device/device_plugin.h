// Loads a device plugin library (plugin.h). A loaded library is never unloaded, because its devices
// use its code and data. Thread-safe.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "device/plugin.h"

namespace mgtune {

// The places where libmgruntime-cpu.so may be, in the order of looking: only $MGTUNE_CPU_PLUGIN if
// it is set; otherwise beside the library or program that contains this code, beside the running
// program, and in ../lib of both.
std::vector<std::string> cpu_plugin_places();

// Loads the plugin in the first of `places` that has a file. Its symbols are visible to libraries
// that are loaded later, because kernels call into it. environment if there is none, if it does not
// load, or if it was built from other sources than this program.
Result<const DevicePlugin*> load_device_plugin(const std::vector<std::string>& places);

}  // namespace mgtune

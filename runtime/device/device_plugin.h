// Loading of a device plugin library (plugin.h). A library once loaded stays: code and data of its
// devices live in it. Thread-safe.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "device/plugin.h"

namespace mgtune {

// Where libmgruntime-cpu.so may lie, in the order of looking: $MGTUNE_CPU_PLUGIN alone when it is
// set; else beside the library or program that contains this code, beside the running program, and
// in ../lib of both.
std::vector<std::string> cpu_plugin_places();

// The plugin in the first of `places` where there is a file, its symbols visible to the libraries
// loaded after it (kernels call into it). environment when there is none, when it does not load,
// and when it was built from other sources than this program.
Result<const DevicePlugin*> load_device_plugin(const std::vector<std::string>& places);

}  // namespace mgtune

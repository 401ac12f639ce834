// The compile worker, `mgtune worker compile TARGET`: it builds variants into the build cache.
//
// TARGET is the device that it compiles for, as one word of JSON. The worker launches nothing, so
// it does not have to ask the driver about the device. Sixteen workers that ask at once would wait
// long.

#pragma once

#include <string>

#include "core/status.h"
#include "device/device.h"

namespace mgtune {

// TARGET for a device: {"id": "GPU-...", "arch": "sm_90", "compute_capability": 90, ...}. It has
// everything that a build depends on, and the id that requests name.
std::string compile_target_word(const DeviceInfo& device);

// The device that such a word describes; the fields that the word does not have are empty.
// invalid_argument for any other word.
Result<DeviceInfo> decode_compile_target(const std::string& word);

// A process that only compiles needs no CUDA driver, but NVRTC starts the driver in its first
// compile. This takes 0.2 s on an H200, and longer in many processes at once, because the driver
// starts them one at a time.
//
// keep_driver_out() opens a library with the driver's name ("libcuda.so.1") that reports no GPU.
// From then on the dynamic linker takes this library for the driver, and this process cannot open
// the real driver. So call keep_driver_out() before any code opens the driver. If the system cannot
// open a library from memory, or if the driver is already open, nothing changes and compiling takes
// longer.
void keep_driver_out();

// Reads requests from standard input until it closes and answers on standard output. The Status is
// the worker's failure, never the failure of a single variant.
Status run_compile_worker(DeviceInfo device);

}  // namespace mgtune

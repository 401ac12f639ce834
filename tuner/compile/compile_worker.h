// The compile worker, `mgtune worker compile TARGET`: it builds variants into the build cache.
//
// TARGET is the device that it compiles for, as one word of JSON. The worker launches nothing, so
// it need not ask the driver about the device; sixteen workers that ask at once wait long.

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

// A process that only compiles needs no CUDA driver, but NVRTC starts the driver in its first
// compile. This takes 0.2 s on an H200, and longer in many processes at once, because the driver
// starts them one at a time.
//
// keep_driver_out() opens a library with the driver's name ("libcuda.so.1") that reports no GPU.
// From then on the linker takes it for the driver, and this process cannot open the real one: call
// it before anything opens the driver. If the system cannot open a library from memory, or the
// driver is open already, nothing changes and compiling takes longer.
void keep_driver_out();

// Reads requests from standard input until it closes and answers on standard output. The Status is
// the worker's failure, never the failure of a single variant.
Status run_compile_worker(DeviceInfo device);

}  // namespace mgtune

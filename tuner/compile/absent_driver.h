// A process that only compiles needs no CUDA driver, but NVRTC starts the driver in its first
// compile. This takes 0.2 s on an H200, and longer in many processes at once, because the driver
// starts them one at a time.
//
// keep_driver_out() opens a library with the driver's name ("libcuda.so.1") that reports no GPU.
// From then on the linker takes it for the driver, and this process cannot open the real one: call
// it before anything opens the driver. If the system cannot open a library from memory, or the
// driver is open already, nothing changes and compiling takes longer.

#pragma once

namespace mgtune {

void keep_driver_out();

}  // namespace mgtune

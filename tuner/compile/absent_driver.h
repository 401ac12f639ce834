// A process that only compiles needs no CUDA driver, but NVRTC starts it in its first compile: 0.2
// s on an H200, and longer in many processes at once, since the driver takes them one at a time.
//
// keep_driver_out() opens a library that bears the driver's name ("libcuda.so.1") and says that
// there is no GPU. From then on the linker takes it for the driver, which nobody in this process
// can open any more: call it before anything does. Where the system opens no library from memory,
// or the driver is there already, nothing changes, and compiling takes its time.

#pragma once

namespace mgtune {

void keep_driver_out();

}  // namespace mgtune

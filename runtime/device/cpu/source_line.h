// From an address in a kernel library to the line of the kernel it was compiled from.

#pragma once

#include <string>

namespace mgtune {

// Returns "forward.cu:45" for the instruction before `return_address`. In a chain of inlined
// functions it is the innermost line outside the device headers (mg/, mgcpu/). Runs addr2line
// (binutils). Without it, or without debug information, the result is the symbol and the offset.
// Thread-safe; takes milliseconds.
std::string source_line(const void* return_address);

}  // namespace mgtune

// From an address in a kernel library to the line of the kernel it was compiled from.

#pragma once

#include <string>

namespace mgtune {

// "forward.cu:45", for the instruction before `return_address`. Of a chain of inlined functions the
// innermost line outside the device headers (mg/, mgcpu/). Runs addr2line (binutils); without it,
// or without debug information: the symbol and the offset. Thread-safe; costs milliseconds.
std::string source_line(const void* return_address);

}  // namespace mgtune

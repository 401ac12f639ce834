// Computes the size of a build's machine code, and a hash that shows whether two builds have the
// same code. Pure.

#pragma once

#include <string>
#include <string_view>

namespace mgtune {

// The bytes of all sections with machine code, in all cubins of the build: kernels, and functions
// that were not inlined. From sm_70 on, an instruction has 16 bytes. -1 if there is no cubin, for
// example in a library of the cpu device.
int machine_code_bytes(std::string_view binary);

// A hash of everything in a build except the names of its kernels. Two builds with the same hash
// are the same for a GPU: instructions, constants and their names, registers, static and local
// memory, limits of a launch, parameters. Template arguments are part of a kernel's name, so two
// instantiations of a template may have the same hash. "" if there is no cubin, or if a cubin has
// code in more than one section, as with several kernels: we would have to tell apart builds with
// equal parts in another order.
std::string machine_code_identity(std::string_view binary);

}  // namespace mgtune

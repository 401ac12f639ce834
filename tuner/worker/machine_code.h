// The machine code of a build: its size, and whether that of another build is the same. Pure.

#pragma once

#include <string>
#include <string_view>

namespace mgtune {

// The bytes of all sections with machine code: of the kernels, and of functions that were not
// inlined, in all cubins of the build. An instruction has 16 bytes from sm_70 on. -1 if there is no
// cubin, for example in a library of the cpu device.
int machine_code_bytes(std::string_view binary);

// A hash of all of a build but the names of its kernels. Builds with the same one differ in nothing
// that a GPU is told: instructions, constants and their names, registers, static and local memory,
// limits of a launch, parameters. Template arguments are part of a kernel's name, so two
// instantiations of a template may have the same. "" if a cubin of the build has code in more than
// one section, as with several kernels, where equal parts in another order would have to be told
// apart, or if there is no cubin.
std::string machine_code_identity(std::string_view binary);

}  // namespace mgtune

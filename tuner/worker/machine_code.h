// The size of the machine code of a build. Pure.

#pragma once

#include <string_view>

namespace mgtune {

// The bytes of all sections with machine code: of the kernels, and of functions that were not
// inlined, in all cubins of the build. An instruction has 16 bytes from sm_70 on. -1 if there is no
// cubin, for example in a library of the cpu device.
int machine_code_bytes(std::string_view binary);

}  // namespace mgtune

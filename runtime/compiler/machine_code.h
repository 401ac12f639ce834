// The size of the machine code in a cubin. Pure.

#pragma once

#include <string_view>

namespace mgtune {

// The bytes of all sections with machine code: of the kernels, and of functions that were not
// inlined. An instruction has 16 bytes from sm_70 on. -1 if the text is no cubin, for example a
// library of the cpu device.
int machine_code_bytes(std::string_view cubin);

}  // namespace mgtune

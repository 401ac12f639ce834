// What a kernel's PTX says about which kernels may be compiled together. Pure.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mgtune {

// One kernel of a program.
struct PtxEntry {
  std::string_view symbol;
  std::string_view text;  // from ".entry" to its closing brace
  int bytes = 0;  // of the text, without declarations of shared memory, which may be elsewhere
  // It uses no variable in global or constant memory and no function, so its machine code alone
  // is all that it needs.
  bool stands_alone = false;
  // Its machine code and its shared memory do not depend on the other kernels of the program.
  bool is_independent = false;
};

// The kernels of a program, in its order. The result points into the text.
std::vector<PtxEntry> parse_ptx(std::string_view ptx);

}  // namespace mgtune

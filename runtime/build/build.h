// Build: the output of a compiler for one variant and one architecture: a cubin, a list of cubins
// (kernel_binaries.h) with one kernel each, or a host library for the cpu device. Plain data.

#pragma once

#include <string>
#include <vector>

namespace mgtune {

struct BuildKernel {
  std::string name;    // the name expression asked for: "rmsnorm_forward<float, 64, 32>"
  std::string symbol;  // its name in the binary
  // These are from the compiler's report. -1 if it does not report them (cpu).
  int registers = -1;
  int spill_bytes = -1;
  int static_shared_bytes = -1;
};

// A variable that launches write, such as one in constant memory.
struct BuildVariable {
  std::string name;    // the name asked for: "d_filter"
  std::string symbol;  // its name in the binary
};

struct Build {
  std::string key;     // of the BuildRequest: a hash of all inputs of the compiler
  std::string sha256;  // of `binary`; results are stored under this hash
  std::string arch;    // "sm_90a", "cpu"
  std::string binary;
  std::vector<BuildKernel> kernels;
  std::string log;  // the compiler's warnings and resource report
  std::vector<BuildVariable> variables = {};
  int ptx_bytes = -1;  // the length of the kernels' PTX, without variables; -1: not known
};

}  // namespace mgtune

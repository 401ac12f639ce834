// HostToolchain: the C++ compiler of this machine, the flags for kernels of the cpu device, and the
// place of the CUDA headers. Plain data. Looked for once per HostCompiler.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"

namespace mgtune {

struct HostToolchain {
  std::vector<std::string> command;        // absolute path, then the arguments in $CXX
  std::vector<std::string> compile_flags;  // the same on every machine with this compiler
  std::vector<std::string> link_flags;
  std::string precompiled_suffix;  // of a precompiled header: ".gch", ".pch"
  std::string cuda_include;
  std::string version;  // first line of --version, and the CUDA headers' version
};

// The compiler is $CXX, otherwise c++, g++ or clang++ of PATH. The headers are those of $CUDA_HOME,
// otherwise those that mgtune was built with, otherwise /usr/local/cuda. environment if one is
// missing, saying where it was looked for. unsupported for "cpu-race" in a build with
// ThreadSanitizer.
Result<HostToolchain> find_host_toolchain(const std::string& arch);

}  // namespace mgtune

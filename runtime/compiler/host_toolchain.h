// HostToolchain: the C++ compiler of this machine, how it is to be called for kernels of the cpu
// device, and where the CUDA headers are. Plain data; found once per HostCompiler.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"

namespace mgtune {

struct HostToolchain {
  std::vector<std::string> command;        // absolute path, then what $CXX adds
  std::vector<std::string> compile_flags;  // the same on every machine with this compiler
  std::vector<std::string> link_flags;
  std::string precompiled_suffix;  // of a precompiled header: ".gch", ".pch"
  std::string cuda_include;
  std::string version;  // first line of --version, and the CUDA headers' version
};

// The compiler is $CXX, else c++, g++ or clang++ of PATH; the headers are those of $CUDA_HOME, else
// those mgtune was built with, else /usr/local/cuda. environment when one is missing, saying where
// it was looked for; unsupported for "cpu-race" in a build with ThreadSanitizer.
Result<HostToolchain> find_host_toolchain(const std::string& arch);

}  // namespace mgtune

// HostToolchain: the C++ compiler of this machine, the flags for kernels of the cpu device, and the
// place of the CUDA headers. Plain data. Looked for once per HostCompiler.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "system/process.h"

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

// Why the compiler failed: because of the source, which its author must know, or because of the
// machine, which says nothing about the source.
//
// For a run that did not end with 0. io if there was no room or no permission to write. environment
// if a signal ended the compiler, memory ran out, a part of the compiler is missing, or it gave no
// reason. ok if the source is at fault. It knows the English messages of g++, clang and ld. A
// message that it does not know counts as a fault of the source.
Status machine_failure(const SubprocessOutcome& outcome);

}  // namespace mgtune

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
// otherwise those that mgtune was built with, otherwise those of /usr/local/cuda. environment if
// the compiler or the headers are missing; the message has the places that were searched.
// unsupported for "cpu-race" if mgtune itself was built with ThreadSanitizer.
Result<HostToolchain> find_host_toolchain(const std::string& arch);

// Decides why a compiler failed, if its exit code is not 0. The author of the source must see a
// fault of the source; a fault of the machine says nothing about the source.
//
// io if there was no space or no permission to write. environment if a signal ended the compiler,
// memory ran out, a part of the compiler is missing, or the compiler gave no reason. ok if the
// source is at fault. The function knows the English messages of g++, clang and ld. A message that
// it does not know counts as a fault of the source.
Status machine_failure(const SubprocessOutcome& outcome);

}  // namespace mgtune

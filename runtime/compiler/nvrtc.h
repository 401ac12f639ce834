// Nvrtc: the functions of NVIDIA's run-time compiler. The library is opened when a program first
// compiles.
//
// Finding the library does not open it: a program whose builds all come from the cache never loads
// the 100 MB of NVRTC. It is looked for in this order: only $MGTUNE_NVRTC_PATH (a file) if it is
// set; a copy that the process has loaded already (for example by PyTorch); $CUDA_HOME,
// $LD_LIBRARY_PATH, /usr/local/cuda and the system's library folder. Immutable once opened.
// Different threads may compile different programs.

#pragma once

#include <nvrtc.h>

#include <string>

#include "core/status.h"
#include "system/file_system.h"
#include "system/shared_library.h"

// The functions that mgtune calls.
// clang-format off: version 14 changes this list each time it formats it.
#define MGTUNE_NVRTC_FUNCTIONS(X) \
  X(nvrtcVersion)                 \
  X(nvrtcGetErrorString)          \
  X(nvrtcCreateProgram)           \
  X(nvrtcDestroyProgram)          \
  X(nvrtcAddNameExpression)       \
  X(nvrtcCompileProgram)          \
  X(nvrtcGetLoweredName)          \
  X(nvrtcGetProgramLogSize)       \
  X(nvrtcGetProgramLog)           \
  X(nvrtcGetCUBINSize)            \
  X(nvrtcGetCUBIN)                \
  X(nvrtcGetPTXSize)              \
  X(nvrtcGetPTX)
// clang-format on

namespace mgtune {

struct Nvrtc {
  std::string path;  // of the library
  int major = 0, minor = 0;

  MGTUNE_NVRTC_FUNCTIONS(MGTUNE_DECLARE_FUNCTION)
};

// The path of the library, which is not opened. If there is none: environment, with the places that
// were searched and how to install the library.
Result<std::string> find_nvrtc(FileSystem& file_system = FileSystem::real());

// environment if `path` cannot be loaded, or if its version is older than 12.8 (the message names
// the version).
Result<Nvrtc> open_nvrtc(const std::string& path, LibraryLoader& loader = LibraryLoader::real());

}  // namespace mgtune

// NvrtcCompiler: cubins for "sm_..." architectures. Needs no GPU and no driver. Not thread-safe, as
// all compilers: one per thread or process.

#pragma once

#include <memory>
#include <string>

#include "compiler/compiler.h"
#include "system/file_system.h"
#include "system/shared_library.h"
#include "core/status.h"

namespace mgtune {

// environment when there is no NVRTC or no CUDA headers; neither is opened before the first
// compile.
Result<std::unique_ptr<Compiler>> make_nvrtc_compiler(
    const std::string& arch, FileSystem& file_system = FileSystem::real(),
    LibraryLoader& loader = LibraryLoader::real());

}  // namespace mgtune

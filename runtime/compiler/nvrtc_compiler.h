// NvrtcCompiler: cubins for "sm_..." architectures. It needs no GPU and no driver. Like all
// compilers it is not thread-safe: use one per thread or process.

#pragma once

#include <memory>
#include <string>

#include "compiler/compiler.h"
#include "core/status.h"
#include "system/file_system.h"
#include "system/shared_library.h"

namespace mgtune {

// environment if there is no NVRTC, or no CUDA headers. Neither is opened before the first compile.
Result<std::unique_ptr<Compiler>> make_nvrtc_compiler(
    const std::string& arch, FileSystem& file_system = FileSystem::real(),
    LibraryLoader& loader = LibraryLoader::real());

}  // namespace mgtune

// Where the CUDA Toolkit is on this machine. All of its parts that are opened at run time (NVRTC,
// CUPTI, the headers that kernels include) are looked for in the same folders. The results depend
// on the file system and the environment. Callable from any thread as long as nobody changes the
// environment.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/status.h"
#include "system/file_system.h"

namespace mgtune {

// NVIDIA's Python packages for CUDA 13, if mgtune's own package is installed beside them: the
// folder nvidia/cu13 in the folder of all packages, for code in mgtune/bin or mgtune/lib. "" if
// there is no such folder.
std::string cuda_packages_beside(const std::filesystem::path& code_folder);

// The folders to look in, best first: $CUDA_HOME, NVIDIA's Python packages beside mgtune's, the
// toolkit that this program was built with, /usr/local/cuda. Each appears once, and none has to
// exist.
std::vector<std::string> cuda_toolkit_folders();

// The folder "include" of the first one with the headers that kernels may include: cuda_fp16.h,
// cuda_bf16.h, cuda_fp8.h. environment if none has them, naming the folders.
Result<std::string> find_cuda_include(FileSystem& file_system);

// The SHA-256 of those headers: part of every build's key.
std::string cuda_headers_sha256(FileSystem& file_system, const std::string& include_folder);

}  // namespace mgtune

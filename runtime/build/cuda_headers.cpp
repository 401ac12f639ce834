#include "build/cuda_headers.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/sha256.h"
#include "core/user_folders.h"

namespace mgtune {
namespace {

// Each includes its .hpp, where there is one.
constexpr std::array<const char*, 6> kHeaders = {"cuda_fp16.h",   "cuda_fp16.hpp", "cuda_bf16.h",
                                                 "cuda_bf16.hpp", "cuda_fp8.h",    "cuda_fp8.hpp"};

std::vector<std::string> folders() {
  std::vector<std::string> folders;
  if (const std::string home = environment_variable("CUDA_HOME"); !home.empty()) {
    folders.push_back(home + "/include");
  }
  for (const char* folder : {MGTUNE_CUDA_INCLUDE, "/usr/local/cuda/include"}) {
    if (std::ranges::find(folders, folder) == folders.end()) folders.emplace_back(folder);
  }
  return folders;
}

}  // namespace

Result<CudaHeaders> find_cuda_headers(FileSystem& file_system) {
  std::string looked_in;
  for (const std::string& folder : folders()) {
    looked_in += (looked_in.empty() ? "" : ", ") + folder;
    if (!file_system.exists(folder + "/" + kHeaders.front())) continue;
    Sha256 hash;
    for (const char* header : kHeaders) {
      const Result<std::string> content = file_system.read_file(folder + "/" + header);
      hash.update_field(content.ok() ? *content : "");
    }
    return CudaHeaders{folder, hash.hex()};
  }
  return environment_error("the CUDA Toolkit's headers are not here: looked for " +
                           std::string(kHeaders.front()) + " in " + looked_in +
                           "; set CUDA_HOME or install the toolkit (package cuda-cudart-dev)");
}

}  // namespace mgtune

#include "compiler/cuda_headers.h"

#include <array>

#include "compiler/cuda_toolkit.h"
#include "core/sha256.h"

namespace mgtune {
namespace {

// Each includes its .hpp, where there is one.
constexpr std::array<const char*, 6> kHeaders = {"cuda_fp16.h",   "cuda_fp16.hpp", "cuda_bf16.h",
                                                 "cuda_bf16.hpp", "cuda_fp8.h",    "cuda_fp8.hpp"};

}  // namespace

Result<CudaHeaders> find_cuda_headers(FileSystem& file_system) {
  std::string looked_in;
  for (const std::string& toolkit : cuda_toolkit_folders()) {
    const std::string folder = toolkit + "/include";
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

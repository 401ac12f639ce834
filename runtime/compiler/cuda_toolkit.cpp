#include "compiler/cuda_toolkit.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "core/sha256.h"
#include "system/user_folders.h"

namespace mgtune {
namespace {

// Each includes its .hpp, where there is one.
constexpr std::array<const char*, 6> kHeaders = {"cuda_fp16.h",   "cuda_fp16.hpp", "cuda_bf16.h",
                                                 "cuda_bf16.hpp", "cuda_fp8.h",    "cuda_fp8.hpp"};

}  // namespace

std::string cuda_packages_beside(const std::filesystem::path& code_folder) {
  if (code_folder.empty()) return "";
  const std::filesystem::path folder = (code_folder / "../../nvidia/cu13").lexically_normal();
  std::error_code ignored;
  return std::filesystem::is_directory(folder, ignored) ? folder.string() : "";
}

std::vector<std::string> cuda_toolkit_folders() {
  std::vector<std::string> folders;
  for (const std::string& folder :
       {environment_variable("CUDA_HOME"), cuda_packages_beside(folder_of_this_code()),
        std::string(MGTUNE_CUDA_HOME), std::string("/usr/local/cuda")}) {
    if (folder.empty() || std::ranges::find(folders, folder) != folders.end()) continue;
    folders.push_back(folder);
  }
  return folders;
}

Result<std::string> find_cuda_include(FileSystem& file_system) {
  std::string looked_in;
  for (const std::string& toolkit : cuda_toolkit_folders()) {
    const std::string folder = toolkit + "/include";
    if (file_system.exists(folder + "/" + kHeaders.front())) return folder;
    looked_in += (looked_in.empty() ? "" : ", ") + folder;
  }
  return environment_error("the CUDA Toolkit's headers are not here: looked for " +
                           std::string(kHeaders.front()) + " in " + looked_in +
                           "; set CUDA_HOME or install the toolkit (package cuda-cudart-dev)");
}

std::string cuda_headers_sha256(FileSystem& file_system, const std::string& include_folder) {
  Sha256 hash;
  for (const char* header : kHeaders) {
    const Result<std::string> content = file_system.read_file(include_folder + "/" + header);
    hash.update_field(content.ok() ? *content : "");
  }
  return hash.hex();
}

}  // namespace mgtune

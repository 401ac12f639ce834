#include "compiler/nvrtc.h"

#include <link.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <vector>

#include "compiler/cuda_toolkit.h"
#include "system/user_folders.h"

namespace mgtune {
namespace {

constexpr int kOldestVersion = 1208;  // 12.8 knows sm_100 and sm_120
constexpr std::array<const char*, 2> kFileNames = {"libnvrtc.so.13", "libnvrtc.so.12"};
constexpr char kAdvice[] =
    "install the CUDA Toolkit 12.8 or newer (package cuda-nvrtc), or set CUDA_HOME or "
    "MGTUNE_NVRTC_PATH";

// The copy that this process has loaded already; "" if there is none.
std::string loaded_nvrtc() {
  std::string path;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        const std::string_view name = info->dlpi_name;
        const std::size_t slash = name.rfind('/');
        const std::string_view file = slash == name.npos ? name : name.substr(slash + 1);
        if (!file.starts_with("libnvrtc.so")) return 0;
        *static_cast<std::string*>(found) = name;
        return 1;
      },
      &path);
  return path;
}

std::vector<std::string> folders() {
  std::vector<std::string> folders;
  const std::vector<std::string> toolkits = cuda_toolkit_folders();
  const bool has_home = !environment_variable("CUDA_HOME").empty();
  const auto add_toolkit = [&](const std::string& toolkit) {
    folders.push_back(toolkit + "/lib64");
    folders.push_back(toolkit + "/lib");
  };
  if (has_home) add_toolkit(toolkits.front());
  std::istringstream parts(environment_variable("LD_LIBRARY_PATH"));
  for (std::string part; std::getline(parts, part, ':');) {
    if (!part.empty()) folders.push_back(part);
  }
  std::for_each(toolkits.begin() + (has_home ? 1 : 0), toolkits.end(), add_toolkit);
  folders.insert(folders.end(), {"/usr/lib/x86_64-linux-gnu", "/usr/lib64"});
  return folders;
}

}  // namespace

Result<std::string> find_nvrtc(FileSystem& file_system) {
  if (std::string path(environment_variable("MGTUNE_NVRTC_PATH")); !path.empty()) {
    if (file_system.exists(path)) return path;
    return environment_error("MGTUNE_NVRTC_PATH names no file: " + path);
  }
  if (std::string path = loaded_nvrtc(); !path.empty()) return path;
  std::string looked_in;
  for (const std::string& folder : folders()) {
    for (const char* name : kFileNames) {
      const std::string path = folder + "/" + name;
      if (file_system.exists(path)) return path;
    }
    looked_in += (looked_in.empty() ? "" : ", ") + folder;
  }
  return environment_error("NVRTC, which compiles CUDA kernels, is not here: looked for " +
                           std::string(kFileNames.front()) + " in " + looked_in + "; " + kAdvice);
}

Result<Nvrtc> open_nvrtc(const std::string& path, LibraryLoader& loader) {
  const Result<SharedLibrary> library = SharedLibrary::open(std::array{path}, loader);
  if (!library.ok()) {
    return environment_error("NVRTC does not load: " + library.status().message() + "; " + kAdvice);
  }
  Nvrtc nvrtc;
  nvrtc.path = library->path();
#define MGTUNE_BIND(function) MGTUNE_TRY(library->bind(#function, &nvrtc.function));
  MGTUNE_NVRTC_FUNCTIONS(MGTUNE_BIND)
#undef MGTUNE_BIND
  if (nvrtc.nvrtcVersion(&nvrtc.major, &nvrtc.minor) != NVRTC_SUCCESS) {
    return environment_error(nvrtc.path + " does not say its version");
  }
  if (nvrtc.major * 100 + nvrtc.minor < kOldestVersion) {
    return environment_error("NVRTC " + std::to_string(nvrtc.major) + "." +
                             std::to_string(nvrtc.minor) + " at " + nvrtc.path + " is too old; " +
                             kAdvice);
  }
  // The compiler opens this library by its bare name. If NVRTC comes from a Python wheel, the
  // system's loader does not look beside it, but it uses a library of that name that is loaded
  // already. If there is none in this place, the loader may still find it elsewhere.
  const std::string folder = nvrtc.path.substr(0, nvrtc.path.rfind('/') + 1);
  const std::array builtins = {folder + "libnvrtc-builtins.so." + std::to_string(nvrtc.major) +
                               "." + std::to_string(nvrtc.minor)};
  (void)SharedLibrary::open(builtins, loader);
  return nvrtc;
}

}  // namespace mgtune

#include "system/own_folders.h"

#include <dlfcn.h>

#include <system_error>

namespace mgtune {

std::filesystem::path folder_of_this_code() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&folder_of_this_code), &info) == 0) return {};
  std::error_code error;
  return std::filesystem::canonical(info.dli_fname, error).parent_path();
}

std::filesystem::path folder_of_this_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

}  // namespace mgtune

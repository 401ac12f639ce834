#include "system/user_folders.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <system_error>

namespace mgtune {
namespace {

// The specification says that relative paths must be ignored.
std::string user_folder(const char* variable, const char* below_home) {
  const std::string base = environment_variable(variable);
  if (base.starts_with('/')) return base + "/mgtune";
  const std::string home = environment_variable("HOME");
  return home.starts_with('/') ? home + below_home + "/mgtune" : "";
}

std::string state_of(const char* variable) {
  const std::string value = environment_variable(variable);
  return variable + (value.empty() ? std::string(" is not set")
                                   : " is '" + value + "', which is not an absolute path");
}

}  // namespace

std::string environment_variable(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value != nullptr ? value : "";
}

std::string user_data_folder() { return user_folder("XDG_DATA_HOME", "/.local/share"); }

std::string user_cache_folder() { return user_folder("XDG_CACHE_HOME", "/.cache"); }

std::string why_no_user_folder(const char* variable) {
  return state_of(variable) + ", and " + state_of("HOME");
}

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

#include "system/user_folders.h"

#include <stdlib.h>

namespace mgtune {
namespace {

// The specification says that relative paths must be ignored.
std::string user_folder(const char* variable, const char* below_home) {
  const std::string base = environment_variable(variable);
  if (base.starts_with('/')) return base + "/mgtune";
  const std::string home = environment_variable("HOME");
  return home.starts_with('/') ? home + below_home + "/mgtune" : "";
}

}  // namespace

std::string environment_variable(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value != nullptr ? value : "";
}

std::string user_data_folder() { return user_folder("XDG_DATA_HOME", "/.local/share"); }

std::string user_cache_folder() { return user_folder("XDG_CACHE_HOME", "/.cache"); }

}  // namespace mgtune

// InstalledLibrary: libmgruntime of an installed tree in this process, beside the one that the test
// is linked with. Tables in share/mgtune/results below the prefix are its installed ones.

#pragma once

#include <dlfcn.h>

#include <filesystem>
#include <string>

#include "tests/helpers/test_paths.h"

namespace mgtune {

class InstalledLibrary {
 public:
  // `folder`: "lib" or another one below the prefix.
  InstalledLibrary(const std::string& prefix, const std::string& folder) {
    const std::filesystem::path library =
        std::filesystem::path(prefix) / folder / "libmgruntime.so";
    std::filesystem::create_directories(library.parent_path());
    std::filesystem::copy_file(runtime_library_path(), library);
    library_ = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  InstalledLibrary(const InstalledLibrary&) = delete;
  InstalledLibrary& operator=(const InstalledLibrary&) = delete;

  bool is_there() const { return library_ != nullptr; }

  // The library's own function of that name; `same` says its type.
  template <typename Function>
  Function* of(Function* same, const char* name) const {
    static_cast<void>(same);
    return reinterpret_cast<Function*>(::dlsym(library_, name));
  }

 private:
  void* library_;  // never closed
};

}  // namespace mgtune

#include "system/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <string_view>
#include <vector>

namespace mgtune {
namespace {

class RealLibraryLoader final : public LibraryLoader {
 public:
  void* open(const std::string& path, std::string* error) override {
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const text = ::dlerror();
      *error = text != nullptr ? text : "it does not open";
    }
    return library;
  }

  void* symbol(void* library, const char* name) override { return ::dlsym(library, name); }

  std::string path_of(void* library) override {
    const link_map* map = nullptr;
    if (::dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return "";
    return map->l_name;
  }
};

// The linker's text begins with the file that it could not open. That is the candidate itself if it
// does not exist, or a library that the candidate needs.
bool is_absent(std::string_view candidate, std::string_view error) {
  return error.starts_with(candidate) && error.ends_with(": No such file or directory");
}

}  // namespace

LibraryLoader& LibraryLoader::real() {
  static RealLibraryLoader loader;
  return loader;
}

Result<SharedLibrary> SharedLibrary::open(std::span<const std::string> candidates,
                                          LibraryLoader& loader) {
  std::vector<std::string> absent, failures;
  for (const std::string& candidate : candidates) {
    std::string error;
    void* const handle = loader.open(candidate, &error);
    if (handle != nullptr) {
      std::string path = loader.path_of(handle);
      if (path.empty()) path = candidate;
      return SharedLibrary(loader, handle, std::move(path));
    }
    if (is_absent(candidate, error)) {
      absent.push_back(candidate);
    } else {
      failures.push_back(error.starts_with(candidate) ? error
                                                      : fmt::format("{}: {}", candidate, error));
    }
  }
  // If a library exists but does not load, its reason says more than a list of the missing ones.
  if (!failures.empty()) return environment_error(fmt::format("{}", fmt::join(failures, "; ")));
  if (absent.empty()) return environment_error("no library to look for");
  return environment_error(fmt::format("not found: {}", fmt::join(absent, ", ")));
}

Result<void*> SharedLibrary::symbol(const char* name) const {
  void* const address = loader_->symbol(handle_, name);
  if (address == nullptr) return environment_error(path_ + " has no " + name);
  return address;
}

}  // namespace mgtune

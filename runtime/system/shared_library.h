// SharedLibrary: a library of this machine that is opened at run time (libcuda, NVRTC, CUPTI,
// NVML), so that the program also starts without it. Tests replace LibraryLoader by a fake.
//
// A library that was opened stays open, because objects that it made use its code and data. Copies
// are cheap and refer to the same library. Any number of threads may use one.

#pragma once

#include <span>
#include <string>
#include <utility>

#include "core/status.h"

// Declares a member that points to a function of a library and has the type that the library's own
// header declares. For the lists of functions, whose other arguments it ignores.
// NOLINTNEXTLINE(bugprone-macro-parentheses): it declares a name
#define MGTUNE_DECLARE_FUNCTION(function, ...) decltype(&::function) function = nullptr;

namespace mgtune {

// The functions of the operating system's dynamic linker.
class LibraryLoader {
 public:
  virtual ~LibraryLoader() = default;
  static LibraryLoader& real();

  virtual void* open(const std::string& path, std::string* error) = 0;  // null on failure
  virtual void* symbol(void* library, const char* name) = 0;            // null when absent
  virtual std::string path_of(void* library) = 0;  // where it was found; "" when unknown
};

class SharedLibrary {
 public:
  // Opens the first of `candidates` (paths, or names that the linker looks for) that can be opened.
  // environment if none can: "not found: libcuda.so.1, libcuda.so", or the linker's reason if one
  // exists but does not load.
  static Result<SharedLibrary> open(std::span<const std::string> candidates,
                                    LibraryLoader& loader = LibraryLoader::real());

  const std::string& path() const { return path_; }

  // Sets *function to the symbol. environment if the library does not have it.
  template <typename Function>
  Status bind(const char* name, Function** function) const {
    MGTUNE_ASSIGN(void* const address, symbol(name));
    *function = reinterpret_cast<Function*>(address);
    return {};
  }
  Result<void*> symbol(const char* name) const;

 private:
  SharedLibrary(LibraryLoader& loader, void* handle, std::string path)
      : loader_(&loader), handle_(handle), path_(std::move(path)) {}

  LibraryLoader* loader_;
  void* handle_;
  std::string path_;
};

}  // namespace mgtune

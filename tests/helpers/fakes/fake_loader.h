// FakeLoader: libraries that a test makes up, as tables of symbols. What is not in it is absent, in
// the words of the real linker.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "system/shared_library.h"

namespace mgtune {

class FakeLoader final : public LibraryLoader {
 public:
  using Symbols = std::map<std::string, void*>;

  std::map<std::string, Symbols> libraries;   // by the path or name that is asked for
  std::map<std::string, std::string> broken;  // likewise: there, but fails with this text
  std::vector<std::string> asked_for;

  void* open(const std::string& path, std::string* error) override {
    asked_for.push_back(path);
    if (const auto found = broken.find(path); found != broken.end()) {
      *error = found->second;
      return nullptr;
    }
    const auto found = libraries.find(path);
    if (found != libraries.end()) return &found->second;
    *error = path + ": cannot open shared object file: No such file or directory";
    return nullptr;
  }

  void* symbol(void* library, const char* name) override {
    const Symbols& symbols = *static_cast<Symbols*>(library);
    const auto found = symbols.find(name);
    return found == symbols.end() ? nullptr : found->second;
  }

  std::string path_of(void*) override { return ""; }
};

template <typename Function>
void* as_symbol(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace mgtune

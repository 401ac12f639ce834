// ClosureMemo: keeps the closures of a tree's sources, so that each is computed only once. A sweep
// asks for the same closure for each variant, and reading all files again takes a third of a
// millisecond. Any number of threads may use an object at once.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace mgtune {

// The files that a compile of one source may read.
struct SourceClosure {
  // By a name that says where a file comes from: "family forward.cu", "common mg/vec.cuh". The
  // contents belong to the tree and to the program.
  std::map<std::string, std::string_view> files;
  // All names and contents, each with its length before it, as the key of a build has them.
  std::string fields;
};

class ClosureMemo {
 public:
  ClosureMemo() = default;
  // Views into the files of one tree say nothing about a copy, so a copy starts without any.
  ClosureMemo(const ClosureMemo&) noexcept {}
  ClosureMemo& operator=(const ClosureMemo& other) noexcept {
    if (this != &other) known_.clear();
    return *this;
  }
  ~ClosureMemo() = default;

  // The closure of `source`. If it is not known, the result of `make()`, which is kept.
  template <typename Make>
  const SourceClosure& find(const std::string& source, const Make& make) const {
    const std::scoped_lock lock(mutex_);
    std::unique_ptr<const SourceClosure>& closure = known_[source];
    if (closure == nullptr) closure = std::make_unique<const SourceClosure>(make());
    return *closure;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::unique_ptr<const SourceClosure>> known_;  // by source
};

}  // namespace mgtune

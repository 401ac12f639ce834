// SignalText: a line put together in memory of its own, for what must be said from a signal handler
// or after one, where memory of the heap may be what is broken. Text beyond its room is cut off.
// One thread at a time.

#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace mgtune {

class SignalText {
 public:
  // Numbers, pointers and plain strings: fmt then neither allocates nor looks at a locale.
  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    const auto result = fmt::format_to_n(text_.data() + size_, text_.size() - size_, format,
                                         std::forward<Args>(args)...);
    size_ = std::min(size_ + result.size, text_.size());
  }

  // To standard error; what was added is then gone.
  void write() {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text_.data(), size_);
    size_ = 0;
  }

 private:
  std::array<char, 1024> text_;
  std::size_t size_ = 0;
};

}  // namespace mgtune

// SignalText: a line that is written into memory of its own. It is for messages from a signal
// handler or after one, when the heap may be damaged. Text that does not fit is cut off. One thread
// at a time.

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
  // Takes numbers, pointers and plain strings. For these fmt neither allocates nor uses a locale.
  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    const auto result = fmt::format_to_n(text_.data() + size_, text_.size() - size_, format,
                                         std::forward<Args>(args)...);
    size_ = std::min(size_ + result.size, text_.size());
  }

  // Writes the text to standard error and clears it.
  void write() {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text_.data(), size_);
    size_ = 0;
  }

 private:
  std::array<char, 1024> text_;
  std::size_t size_ = 0;
};

}  // namespace mgtune

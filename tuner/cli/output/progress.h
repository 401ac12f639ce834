// ProgressPrinter: shows where a sweep stands. On a terminal a bar that is redrawn at most 10 times
// a second; elsewhere one line every 30 s, so that a log stays readable. The clock is passed in.
// One thread.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "sweep/sweep.h"

namespace mgtune {

class ProgressPrinter {
 public:
  enum class Style : std::uint8_t { bar, color_bar, lines };
  using Time = std::chrono::steady_clock::time_point;

  ProgressPrinter(std::ostream& out, Style style, std::size_t columns, Time start)
      : out_(out), style_(style), columns_(columns), last_(start) {}

  void update(const SweepProgress& progress, Time now);
  void clear();  // takes the bar away, so that other text can be printed

 private:
  std::string bar(const SweepProgress& progress) const;

  std::ostream& out_;
  Style style_;
  std::size_t columns_;
  Time last_;  // of what was drawn
  bool drawn_ = false;
};

// For standard error as it is: a terminal or not, its width, NO_COLOR and TERM heeded.
ProgressPrinter::Style progress_style();
std::size_t terminal_columns();

}  // namespace mgtune

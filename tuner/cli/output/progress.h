// ProgressPrinter: shows the progress of a sweep. On a terminal it draws a bar, at most 10 times
// per second; elsewhere it writes one line every 30 s, so that a log stays readable. The caller
// passes the time. One thread.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
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
  void clear();  // removes the bar, so that other text can be printed

 private:
  std::string bar(const SweepProgress& progress) const;

  std::ostream& out_;
  Style style_;
  std::size_t columns_;
  Time last_;  // of the last output
  bool drawn_ = false;
};

// The style for standard error, which depends on the terminal, NO_COLOR and TERM.
ProgressPrinter::Style progress_style();

}  // namespace mgtune

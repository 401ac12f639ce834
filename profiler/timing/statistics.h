// The summary of one measurement's samples. Pure.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mgtune {

struct SampleSummary {
  double median = 0, q1 = 0, q3 = 0, min = 0;
  std::int64_t count = 0;
  // 95 % interval of the median, by order statistics (exact binomial ranks); [min, max] below 6 samples.
  double median_low = 0, median_high = 0;
};

// `samples` in any order and unit; all zeros for none.
SampleSummary summarise(std::span<const double> samples);

}  // namespace mgtune

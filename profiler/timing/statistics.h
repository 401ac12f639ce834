// The summary of one measurement's samples. Pure.

#pragma once

#include <cstdint>
#include <span>

namespace mgtune {

struct SampleSummary {
  // Quantiles interpolate linearly between the two samples beside position p * (count - 1) of the
  // sorted samples (what NumPy calls "linear").
  double median = 0, q1 = 0, q3 = 0, min = 0;
  std::int64_t count = 0;
  // The 95 % interval of the median: the innermost pair of samples, symmetric in rank, that
  // encloses the true median with at least that probability for any distribution (exact binomial
  // ranks). With fewer than 6 samples no pair reaches 95 %, and the interval is [min, max].
  double median_low = 0, median_high = 0;
};

// `samples` in any order and unit; all zeros for none.
SampleSummary summarise(std::span<const double> samples);

}  // namespace mgtune

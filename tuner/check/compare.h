// Comparing an output with the reference's double results. Pure functions.
//
// The usual measure is the relative L2 error of a whole tensor, ||y - ref|| / ||ref||. It is blind
// to one wrong element among a million, so each element has a bound of its own: 16 times the
// tolerance, of the larger of the reference's magnitude there and the tensor's root mean square.
// (Rounding errors that spread like a normal distribution within the tolerance stay below 7 times
// it in 10^9 elements.) The other one bounds the largest absolute difference of any element. NaN or
// infinity where the reference has none fails, and the other way round.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tensors/problem_tensors.h"
#include "tensors/tensor_layout.h"

namespace mgtune {

// What one pass over the compared elements finds, wherever it is made.
struct DifferenceSums {
  double squared_difference = 0, squared_reference = 0;  // over elements finite on both sides
  double worst = 0;                                      // the largest absolute difference
  std::int64_t compared = 0;
  std::int64_t finiteness = 0;  // elements not finite on one side only, or infinities that differ

  double relative_error() const;  // infinity where finiteness differs or the reference is all zero

  // Whether it passes, whatever the elements are. Where not, one of them may still be within the
  // bound of its own: compare_with_reference() knows.
  bool surely_within(double tolerance) const;
};

struct OutputComparison {
  double error = 0;     // DifferenceSums::relative_error(), or the largest difference
  std::string message;  // "" when it passes; else names the worst element and both values
};

// `reference` holds layout.count values in row-major order. With sample_rows > 0, only that many
// rows of the leading dim are compared, spread evenly from the first to the last.
OutputComparison compare_with_reference(const TensorLayout& layout, const Bytes& output,
                                        std::span<const double> reference, double tolerance,
                                        std::int64_t sample_rows);

// Likewise, where no element may be off by more than `bound`.
OutputComparison compare_by_largest_difference(const TensorLayout& layout, const Bytes& output,
                                               std::span<const double> reference, double bound,
                                               std::int64_t sample_rows);

// The first element whose bits differ, "y[3, 17]"; "" when none does.
std::string first_difference(const TensorLayout& layout, const Bytes& a, const Bytes& b);

}  // namespace mgtune

// Compares an output with the double results of the reference. Pure functions.
//
// The usual measure is the relative L2 error of a whole tensor, ||y - ref|| / ||ref||. It does not
// see one wrong element among a million. So each element has a bound too: 16 times the tolerance,
// relative to the larger of the reference's magnitude at that element and the root mean square of
// the tensor. (Rounding errors that follow a normal distribution within the tolerance stay below 7
// times the tolerance in 10^9 elements.) The other measure bounds the largest absolute difference
// of any element. An output fails if an element is NaN or infinity and the reference is finite
// there, or the other way round.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tensors/problem_tensors.h"
#include "tensors/tensor_layout.h"

namespace mgtune {

// The result of one pass over the compared elements, on the host or on the device.
struct DifferenceSums {
  double squared_difference = 0, squared_reference = 0;  // over elements finite on both sides
  double worst = 0;                                      // the largest absolute difference
  std::int64_t compared = 0;
  std::int64_t finiteness = 0;  // elements not finite on one side only, or infinities that differ

  double relative_error() const;  // infinity if finiteness differs or the reference is all zero

  // True if these sums show that the output passes. If false, the output may still pass, because
  // every element may be within its own bound; compare_with_reference() decides.
  bool surely_within(double tolerance) const;
};

struct OutputComparison {
  double error = 0;     // DifferenceSums::relative_error(), or the largest difference
  std::string message;  // "" if it passes; otherwise names the worst element and both values
};

// `reference` has layout.count values in row-major order. With sample_rows > 0 only that many rows
// of the leading dim are compared, spread evenly from the first to the last.
OutputComparison compare_with_reference(const TensorLayout& layout, const Bytes& output,
                                        std::span<const double> reference, double tolerance,
                                        std::int64_t sample_rows);

// The same with the rule that no element may differ by more than `bound`.
OutputComparison compare_by_largest_difference(const TensorLayout& layout, const Bytes& output,
                                               std::span<const double> reference, double bound,
                                               std::int64_t sample_rows);

// Describes what a launch wrote into an output, for a person who looks for the fault.
struct OutputReport {
  std::string tensor;
  double error = 0, tolerance = 0;  // the error by the operator's measure, and how large it may be
  std::string message;              // OutputComparison::message
  std::int64_t compared = 0;        // elements
  // The elements that are wrong: not finite on one side only, or off by more than the tolerance,
  // which is relative to the larger of the reference's magnitude there and the root mean square. If
  // the output fails although no element is off by so much, only the worst element is counted. 0 if
  // the output passes.
  std::int64_t wrong = 0;
  std::string first;  // the first wrong element in row-major order: "y[3, 17]"
  double expected = 0, got = 0;
};

// `comparison` is the result of one of the functions above; `by_largest_difference` says which one.
OutputReport describe_output(const TensorLayout& layout, const Bytes& output,
                             std::span<const double> reference, const OutputComparison& comparison,
                             double tolerance, bool by_largest_difference,
                             std::int64_t sample_rows);

// The first element whose bits differ, "y[3, 17]"; "" if none differs.
std::string first_difference(const TensorLayout& layout, const Bytes& a, const Bytes& b);

}  // namespace mgtune

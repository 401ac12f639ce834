// SizeSeries: the times of the picks over the size of the problem, and the sizes at which the pick
// changes. Pure.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/variant_words.h"
#include "model/report_model.h"

namespace mgtune {

struct SizePoint {
  std::size_t pick = 0;  // index into the model's picks
  double size = 0;       // the dim's value, or bytes
};

// The size at which the pick changes, between two neighboring points with different picks. It is
// the geometric mean of their sizes, because the runtime changes from one variant to the other
// there. (The runtime keeps only a few variants, so at some sizes it runs another variant than the
// pick; `mgtune explain` says which.)
struct SizeBoundary {
  double at = 0;
  std::string below, above;  // variants
};

// Picks of one GPU, operator and method on problems that differ in one number, `dim`. With dim
// "bytes" the series has all picks, by the bytes that must move, without boundaries; it is left out
// if all problems move the same number.
struct SizeSeries {
  GpuRecord gpu;
  std::string op, method, dim;
  std::vector<Assignment> fixed;  // the values that they share
  std::vector<SizePoint> points;  // ascending, at least two
  std::vector<SizeBoundary> boundaries;
};

std::vector<SizeSeries> size_series(const ReportModel& model);

}  // namespace mgtune

// SizeSeries: the time of the picks against the size of the problem, and where one variant takes
// over from another. Pure.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/report_model.h"

namespace mgtune {

struct SizePoint {
  std::size_t pick = 0;  // of the model's picks
  double size = 0;       // the dim's value, or bytes
};

// Between two neighboring points with different picks: halfway in the logarithm, where the runtime
// changes over. (It keeps few variants: some sizes it serves with another than their pick, as
// `mgtune explain` tells.)
struct SizeBoundary {
  double at = 0;
  std::string below, above;  // variants
};

// Picks of one GPU, operator and method on problems that differ in one number, `dim`. With dim
// "bytes": all of them, by the bytes that must move, without boundaries; left out where all move as
// many.
struct SizeSeries {
  GpuRecord gpu;
  std::string op, method, dim;
  std::vector<std::pair<std::string, std::string>> fixed;  // the values that they share
  std::vector<SizePoint> points;                           // ascending, at least two
  std::vector<SizeBoundary> boundaries;
};

std::vector<SizeSeries> size_series(const ReportModel& model);

}  // namespace mgtune

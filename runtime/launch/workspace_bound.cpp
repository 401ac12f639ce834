#include "launch/workspace_bound.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace mgtune {
namespace {

using WorkspaceSize = LoadedVariant::WorkspaceSize;

// After so many cuts a launch that needs nearly as much as the bound is enough: 16/17 of it.
constexpr int kExactCuts = 256;
constexpr std::int64_t kSlack = 16;
constexpr int kMaxCuts = 1024;  // then the bound is taken as it is

// The largest value of one part of the workspace.
class LargestPart {
 public:
  LargestPart(const LoadedVariant& variant, std::int64_t (*part)(const WorkspaceSize&))
      : variant_(variant), part_(part), may_cut_(variant.dims_that_size_workspace()) {}

  std::int64_t over(const std::vector<Interval>& ranges) {
    add(make_box(ranges));
    for (int cuts = 0; !boxes_.empty(); ++cuts) {
      const std::int64_t bound = boxes_.front().bound;
      const std::int64_t enough = cuts < kExactCuts ? seen_ : seen_ + seen_ / kSlack;
      if (bound <= enough || cuts == kMaxCuts) return bound;
      std::ranges::pop_heap(boxes_, {}, &Box::bound);
      const Box box = std::move(boxes_.back());
      boxes_.pop_back();
      if (!cut(box)) return bound;
    }
    return 0;
  }

 private:
  // A part of the ranges, and what no launch in it exceeds; -1 if none is served.
  struct Box {
    std::vector<Interval> dims;
    std::int64_t bound;
  };

  Box make_box(std::vector<Interval> dims) const {
    const std::optional<WorkspaceSize> size = variant_.bound_workspace(dims);
    return {std::move(dims), size ? part_(*size) : -1};
  }

  void add(Box box) {
    if (box.bound < 0) return;
    try_launch(box.dims, &Interval::low);
    try_launch(box.dims, &Interval::high);
    boxes_.push_back(std::move(box));
    std::ranges::push_heap(boxes_, {}, &Box::bound);
  }

  void try_launch(const std::vector<Interval>& dims, std::int64_t Interval::*corner) {
    std::vector<std::int64_t> values;
    values.reserve(dims.size());
    for (const Interval& dim : dims) values.push_back(dim.is_empty() ? -1 : dim.*corner);
    const Result<WorkspaceSize> size = variant_.workspace_size(values);
    if (size.ok()) seen_ = std::max(seen_, part_(*size));
  }

  // Adds the halves of the box, cut along the dim that lowers the bound most; of equal ones, along
  // the one with the widest range. False if each dim has one value.
  bool cut(const Box& box) {
    std::optional<std::pair<Box, Box>> best;
    double best_width = 0;
    for (std::size_t dim = 0; dim < box.dims.size(); ++dim) {
      const Interval& range = box.dims[dim];
      if (!may_cut_[dim] || range.low >= range.high) continue;
      const std::int64_t middle = middle_of(range);
      std::vector<Interval> lower = box.dims, upper = box.dims;
      lower[dim].high = middle;
      upper[dim].low = middle + 1;
      std::pair<Box, Box> halves{make_box(std::move(lower)), make_box(std::move(upper))};
      const double width = static_cast<double>(range.high) / static_cast<double>(range.low + 1);
      if (best) {
        const std::int64_t bound = larger(halves), least = larger(*best);
        if (bound > least || (bound == least && width <= best_width)) continue;
      }
      best = std::move(halves);
      best_width = width;
    }
    if (!best) return false;
    add(std::move(best->first));
    add(std::move(best->second));
    return true;
  }

  static std::int64_t larger(const std::pair<Box, Box>& halves) {
    return std::max(halves.first.bound, halves.second.bound);
  }

  // The last value of the lower half. Ranges begin at 0 or above; wide ones are cut at the
  // geometric mean.
  static std::int64_t middle_of(const Interval& range) {
    if (range.high / 4 <= range.low) return range.low + (range.high - range.low) / 2;
    const double low = static_cast<double>(std::max<std::int64_t>(range.low, 1));
    const double mean = std::sqrt(low) * std::sqrt(static_cast<double>(range.high));
    return std::clamp(static_cast<std::int64_t>(mean), range.low, range.high - 1);
  }

  const LoadedVariant& variant_;
  std::int64_t (*part_)(const WorkspaceSize&);
  std::vector<bool> may_cut_;
  std::vector<Box> boxes_;  // a heap: the largest bound is in front
  std::int64_t seen_ = 0;   // the most that a launch needs, of those that were tried
};

}  // namespace

WorkspaceSize workspace_bound(const LoadedVariant& variant, const std::vector<DimRange>& ranges) {
  std::vector<Interval> dims;
  dims.reserve(ranges.size());
  for (const DimRange& range : ranges) dims.push_back({range.low, range.high});
  const auto zeroed = [](const WorkspaceSize& size) { return size.zeroed_bytes; };
  const auto rest = [](const WorkspaceSize& size) { return size.bytes - size.zeroed_bytes; };
  const std::int64_t zeroed_bytes = LargestPart(variant, zeroed).over(dims);
  return {zeroed_bytes + LargestPart(variant, rest).over(dims), zeroed_bytes};
}

}  // namespace mgtune

#include "launch/workspace_bound.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mgtune {
namespace {

constexpr std::int64_t kCoarseValues = 256, kFineValues = 4096;
constexpr int kMaxRounds = 4;

class Search {
 public:
  Search(const LoadedVariant& variant, const std::vector<DimRange>& ranges)
      : variant_(variant), ranges_(ranges) {}

  // Goes along each dim in turn to the largest size, until no dim gives more.
  void climb(std::vector<std::int64_t> dims, std::int64_t values_per_line = kCoarseValues) {
    std::int64_t best = size_at(dims);
    for (int round = 0; round < kMaxRounds; ++round) {
      bool grew = false;
      for (std::size_t dim = 0; dim < dims.size(); ++dim) {
        for (const std::int64_t value : values(ranges_[dim], values_per_line)) {
          const std::int64_t before = std::exchange(dims[dim], value);
          if (const std::int64_t size = size_at(dims); size > best) {
            best = size;
            grew = true;
          } else {
            dims[dim] = before;
          }
        }
      }
      if (!grew) break;
    }
    if (best > largest_) {
      largest_ = best;
      largest_at_ = dims;
    }
  }

  void climb_finely() {
    if (!largest_at_.empty()) climb(largest_at_, kFineValues);
  }

  LoadedVariant::WorkspaceSize result() const {
    const bool all_seen = std::all_of(ranges_.begin(), ranges_.end(), [](const DimRange& range) {
      return range.high - range.low < kFineValues;
    });
    // Rounded up to the alignment of 256 bytes.
    const std::int64_t rest = all_seen ? rest_ : (rest_ + rest_ / 16 + 255) / 256 * 256;
    return {zeroed_ + rest, zeroed_};
  }

 private:
  // -1 if the variant does not serve.
  std::int64_t size_at(const std::vector<std::int64_t>& dims) {
    const Result<LoadedVariant::WorkspaceSize> size = variant_.workspace_size(dims);
    if (!size.ok()) return -1;
    zeroed_ = std::max(zeroed_, size->zeroed_bytes);
    rest_ = std::max(rest_, size->bytes - size->zeroed_bytes);
    return size->bytes;
  }

  static std::vector<std::int64_t> values(const DimRange& range, std::int64_t count) {
    if (range.low > range.high) return {};  // always at its default
    std::vector<std::int64_t> values;
    if (range.high - range.low < count) {
      for (std::int64_t value = range.low; value <= range.high; ++value) values.push_back(value);
      return values;
    }
    const double low = std::log2(static_cast<double>(std::max<std::int64_t>(range.low, 1)));
    const double high = std::log2(static_cast<double>(range.high));
    for (std::int64_t i = 0; i < count; ++i) {
      const double exponent =
          low + (high - low) * static_cast<double>(i) / static_cast<double>(count - 1);
      const auto value = static_cast<std::int64_t>(std::exp2(exponent));
      values.push_back(std::clamp(value, range.low, range.high));
    }
    values.back() = range.high;
    return values;
  }

  const LoadedVariant& variant_;
  const std::vector<DimRange>& ranges_;
  std::int64_t zeroed_ = 0, rest_ = 0;
  std::int64_t largest_ = -1;
  std::vector<std::int64_t> largest_at_;
};

}  // namespace

LoadedVariant::WorkspaceSize workspace_bound(const LoadedVariant& variant,
                                             const std::vector<DimRange>& ranges) {
  Search search(variant, ranges);
  std::vector<std::int64_t> low, high;
  for (const DimRange& range : ranges) {
    low.push_back(range.low > range.high ? -1 : range.low);
    high.push_back(range.low > range.high ? -1 : range.high);
  }
  search.climb(high);
  search.climb(low);
  for (std::size_t dim = 0; dim < ranges.size(); ++dim) {
    std::vector<std::int64_t> corner = high;
    corner[dim] = low[dim];
    search.climb(corner);
    corner = low;
    corner[dim] = high[dim];
    search.climb(corner);
  }
  search.climb_finely();
  return search.result();
}

}  // namespace mgtune

#include "store/copy_times.h"

#include <cmath>
#include <iterator>

namespace mgtune {
namespace {

constexpr double kSameSize = 0.006;
constexpr double kNeighbors = 2.02;  // a ceiling may count some bytes that it rounded
constexpr std::int64_t kSmallest = 4 << 10;
constexpr std::int64_t kLargest = std::int64_t{1} << 30;

bool is_same_size(std::int64_t measured, std::int64_t bytes) {
  return std::abs(static_cast<double>(measured - bytes)) <= kSameSize * static_cast<double>(bytes);
}

}  // namespace

void CopyTimes::add(std::int64_t bytes, double bytes_per_second) {
  if (bytes <= 0 || bytes_per_second <= 0) return;
  ns_[bytes] = static_cast<double>(bytes) * 1e9 / bytes_per_second;
}

double CopyTimes::ns(std::int64_t bytes) const {
  const auto above = ns_.lower_bound(bytes);
  const auto scaled = [&](auto copy) {
    return copy->second * static_cast<double>(bytes) / static_cast<double>(copy->first);
  };
  const bool has_above = above != ns_.end(), has_below = above != ns_.begin();
  if (has_above && above->first == bytes) return above->second;
  const auto below = has_below ? std::prev(above) : above;
  const bool is_below_nearer =
      has_below && (!has_above || bytes - below->first < above->first - bytes);
  if (has_above || has_below) {
    const auto nearest = is_below_nearer ? below : above;
    if (is_same_size(nearest->first, bytes)) return scaled(nearest);
  }
  if (has_above && has_below) {
    const auto low = static_cast<double>(below->first), high = static_cast<double>(above->first);
    if (high > kNeighbors * low) return 0;
    const double part = (static_cast<double>(bytes) - low) / (high - low);
    return below->second + part * (above->second - below->second);
  }
  return has_below && below->first >= kLargest ? scaled(below) : 0;
}

std::vector<std::int64_t> CopyTimes::sizes_for(std::int64_t bytes) {
  if (bytes < kSmallest) return {bytes};
  if (bytes >= kLargest) return {kLargest};
  std::int64_t power = kSmallest;
  while (2 * power <= bytes) power *= 2;
  for (const std::int64_t near : {power, 2 * power}) {
    if (is_same_size(near, bytes)) return {near};
  }
  return {power, 2 * power};
}

}  // namespace mgtune

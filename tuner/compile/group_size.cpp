#include "compile/group_size.h"

#include <algorithm>
#include <cmath>

namespace mgtune {
namespace {

// The mean is over about this many of the last variants. Variants that a sweep compiles one after
// the other are similar, so the last ones say most about the next ones.
constexpr int kVariantsInMean = 16;

}  // namespace

void GroupSize::report(const std::string& op, double seconds) {
  Mean& mean = means_[op];
  mean.reports = std::min(mean.reports + 1, kVariantsInMean);
  mean.seconds += (seconds - mean.seconds) / mean.reports;
}

std::size_t GroupSize::wanted(const std::string& op) const {
  const auto known = means_.find(op);
  if (known == means_.end()) return 1;
  const double wanted = std::floor(kSecondsTogether / known->second.seconds);
  return static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(most_)));
}

std::size_t GroupSize::of(const std::string& op, std::size_t waiting, std::size_t processes) const {
  return std::clamp<std::size_t>(waiting / processes, 1, wanted(op));
}

}  // namespace mgtune

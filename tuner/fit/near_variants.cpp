#include "fit/near_variants.h"

#include <algorithm>
#include <cmath>

#include "selection/gpu_similarity.h"

namespace mgtune {
namespace {

// The distance, in factors of two summed over the parameters, at which a weight is 1/e. A prototype
// with half of it ranked variants of rmsnorm.backward at held-out problems worse.
constexpr double kScale = 0.4;

// A smaller weight says nothing beside those of the nearest variants.
constexpr double kLeastNearness = 1e-3;

}  // namespace

std::uint32_t NearVariants::add(const Variant& variant) {
  const auto [at, is_new] = numbers_.try_emplace({variant.design, variant.values},
                                                 static_cast<std::uint32_t>(variants_.size()));
  if (is_new) variants_.push_back(variant);
  return at->second;
}

float NearVariants::weight(const Variant& a, const Variant& b) const {
  if (a.design != b.design) return 0;
  const std::vector<Parameter>& parameters = op_.designs[std::size_t(a.design)].params;
  double distance = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (a.values[i] == b.values[i]) continue;
    const bool is_number = parameters[i].type == ValueType::integer;
    distance +=
        is_number
            ? std::min(1.0, std::abs(log_extent(a.values[i] + 1) - log_extent(b.values[i] + 1)))
            : 1;
  }
  const double weight = std::exp(-distance / kScale);
  return weight < kLeastNearness ? 0 : static_cast<float>(weight);
}

void NearVariants::find_near() {
  while (near_.size() < variants_.size()) {
    const Variant& variant = variants_[near_.size()];
    std::vector<Near>& found = near_.emplace_back();
    for (std::uint32_t other = 0; other < closed_; ++other) {
      const float here = weight(variant, variants_[other]);
      if (here > 0) found.push_back({other, here});
    }
  }
}

}  // namespace mgtune

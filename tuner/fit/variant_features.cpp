#include "fit/variant_features.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "selection/admission.h"

namespace mgtune {
namespace {

constexpr float kNotInDesign = -1;

float log_size(std::int64_t value) {
  return static_cast<float>(std::log2(1.0 + static_cast<double>(std::max<std::int64_t>(value, 0))));
}

// The product of the sizes of a grid or a block; kNotInDesign if one of them fails.
float log_product(const std::vector<Expression>& sizes, const Slots& slots) {
  double product = 1;
  for (const Expression& size : sizes) {
    const Result<std::int64_t> value = size.evaluate(slots);
    if (!value.ok() || *value < 0) return kNotInDesign;
    product *= static_cast<double>(*value);
  }
  return static_cast<float>(std::log2(1 + product));
}

}  // namespace

VariantFeatures::VariantFeatures(const Operator& op, const DeviceLimits& device)
    : op_(op), device_(device) {
  for (const Design& design : op.designs) {
    for (const Name& name : design.scope.names()) places_.try_emplace(name.text, 0);
  }
  std::size_t place = 0;
  for (auto& [name, at] : places_) at = place++;
}

std::optional<std::vector<float>> VariantFeatures::of(const Problem& problem,
                                                      const Variant& variant) const {
  const std::optional<Slots> slots = serving_slots(problem, variant, device_);
  if (!slots) return std::nullopt;
  const Design& design = op_.designs[std::size_t(variant.design)];
  std::vector<float> features(places_.size(), kNotInDesign);
  for (const Name& name : design.scope.names()) {
    const std::int64_t value = (*slots)[std::size_t(name.slot)];
    features[places_.at(name.text)] =
        name.type == ValueType::integer ? log_size(value) : static_cast<float>(value);
  }
  const Result<std::int64_t> bytes = op_.bytes.evaluate(*slots);
  features.push_back(bytes.ok() ? log_size(*bytes) : kNotInDesign);
  features.push_back(static_cast<float>(variant.design));
  const Launch& launch = design.launches.front();
  features.push_back(log_product(launch.grid, *slots));
  features.push_back(log_product(launch.block, *slots));
  return features;
}

}  // namespace mgtune

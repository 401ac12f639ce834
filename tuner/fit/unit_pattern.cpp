#include "fit/unit_pattern.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

namespace mgtune {
namespace {

// "hidden / VEC / 4", "2 * hidden / VEC"; a unit that is not just a product gets parentheses.
std::string scaled_text(const std::string& unit, int exponent) {
  const bool is_simple = unit.find_first_of("?<>=!&|+-") == std::string::npos;
  const std::string inner = is_simple ? unit : "(" + unit + ")";
  if (exponent == 0) return unit;
  const std::int64_t factor = std::int64_t{1} << std::abs(exponent);
  return exponent < 0 ? fmt::format("{} / {}", inner, factor)
                      : fmt::format("{} * {}", factor, inner);
}

// The expression unit * 2^e with the exponent e that fits best. nullopt if the value of the list
// that is nearest to it is not `value`. For a boolean, the unit itself if both are true.
std::optional<Expression> in_units(const Design& design, const Unit& unit, std::int64_t value,
                                   const Slots& slots) {
  constexpr int kLargestExponent = 30;
  const Result<std::int64_t> size = unit.value.evaluate(slots);
  if (!size.ok() || *size < 1 || value < 1) return std::nullopt;
  if (design.params[unit.parameter].type == ValueType::boolean) return unit.value;
  const double ratio = std::log2(static_cast<double>(value) / static_cast<double>(*size));
  const auto exponent = static_cast<int>(std::lround(ratio));
  if (std::abs(exponent) > kLargestExponent) return std::nullopt;
  Result<Expression> scaled =
      Expression::parse(scaled_text(unit.value.text(), exponent), design.scope, ValueType::integer);
  if (!scaled.ok()) return std::nullopt;
  const Result<std::int64_t> wanted = scaled->evaluate(slots);
  const std::vector<std::int64_t>& listed = design.params[unit.parameter].values;
  if (!wanted.ok() || nearest_value(listed, *wanted) != value) return std::nullopt;
  return *std::move(scaled);
}

}  // namespace

std::vector<VariantPattern> unit_patterns(const Variant& variant, const Binding& binding,
                                          const DeviceLimits& device) {
  const Design& design = binding.op->designs[static_cast<std::size_t>(variant.design)];
  Slots slots = binding.slots;
  slots.resize(design.scope.size());
  set_device_slots(device, slots);
  for (std::size_t i = 0; i < variant.values.size(); ++i) {
    slots[static_cast<std::size_t>(design.params[i].slot)] = variant.values[i];
  }
  std::vector<VariantPattern> patterns{pattern_of(variant)};
  for (const Unit& unit : design.units) {
    const std::optional<Expression> scaled =
        in_units(design, unit, variant.values[unit.parameter], slots);
    if (!scaled) continue;
    if (design.params[unit.parameter].type == ValueType::boolean) {
      for (VariantPattern& pattern : patterns) pattern.values[unit.parameter] = {0, scaled};
      continue;
    }
    if (2 * patterns.size() > kMostUnitPatterns) continue;
    const std::size_t count = patterns.size();
    for (std::size_t i = 0; i < count; ++i) {
      patterns.push_back(patterns[i]);
      patterns.back().values[unit.parameter] = {0, scaled};
    }
  }
  return patterns;
}

}  // namespace mgtune

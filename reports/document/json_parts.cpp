#include "document/json_parts.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/variant_words.h"

namespace mgtune {

Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (std::abs(value) >= 1e15 || (value != 0 && std::abs(value) < 1e-300)) return value;
  if (value == std::trunc(value)) return static_cast<std::int64_t>(value);
  const int decimals = 6 - static_cast<int>(std::floor(std::log10(std::abs(value))));
  if (decimals <= 0) return static_cast<std::int64_t>(std::llround(value));
  const double scale = std::pow(10.0, decimals);
  return std::round(value * scale) / scale;
}

Json number(const std::optional<double>& value) { return value ? number(*value) : Json(); }

Json values_json(std::string_view text) {
  Json values = Json::object();
  for (const auto& [name, value] : assignments(text)) values[name] = Json::of_word(value);
  return values;
}

Json count_or_null(int count) { return count >= 0 ? Json(count) : Json(); }

Json known_time(double time_ns) { return time_ns > 0 ? number(time_ns) : Json(); }

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json effect_json(Json value, const ValueEffect& effect, NumberJson write) {
  return {{"value", std::move(value)},    {"variants", effect.variants},
          {"ratio", write(effect.ratio)}, {"low", write(effect.low)},
          {"high", write(effect.high)},   {"best_ratio", write(effect.best_ratio)}};
}

Json step_json(const BestStep& step, NumberJson write) {
  return {{"evaluation", step.evaluation},
          {"seconds", step.seconds ? write(*step.seconds) : Json()},
          {"best_ns", write(step.best_ns)}};
}

Json boundaries_json(const SizeSeries& series, NumberJson write) {
  return Json::array(series.boundaries, [&](const SizeBoundary& boundary) -> Json {
    return {{"at", write(boundary.at)}, {"below", boundary.below}, {"above", boundary.above}};
  });
}

}  // namespace mgtune

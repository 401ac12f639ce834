#include "document/json_parts.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "model/assignments.h"

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

Json typed(std::string_view word) {
  if (word == "true" || word == "false") return word == "true";
  if (const std::optional<std::int64_t> whole = whole_number(word)) return *whole;
  return word;
}

Json values_json(std::string_view text) {
  Json values = Json::object();
  for (const auto& [name, value] : assignments(text)) values[name] = typed(value);
  return values;
}

std::string rows_document(std::string_view name, Json rows) {
  return Json({{"format", 1}, {std::string(name), std::move(rows)}}).document_text();
}

Json count_or_null(int count) { return count >= 0 ? Json(count) : Json(); }

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json identity_json(const GpuRecord& gpu, const std::string& op, const std::string& problem) {
  return {{"gpu", gpu.model}, {"emulation", gpu.emulation}, {"operator", op}, {"problem", problem}};
}

Json counter_values(const std::vector<CounterRecord>& counters) {
  Json values = Json::object();
  for (const CounterRecord& counter : counters) values[counter.name] = counter.value;
  return values;
}

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
  Json boundaries = Json::array();
  for (const SizeBoundary& boundary : series.boundaries) {
    boundaries.push_back(
        {{"at", write(boundary.at)}, {"below", boundary.below}, {"above", boundary.above}});
  }
  return boundaries;
}

}  // namespace mgtune

// Reads the metrics of an operator: names with formulas over its dims, its parameters and the time.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/text.h"
#include "family/decode.h"

namespace mgtune {
namespace {

constexpr std::size_t kMaxMetrics = 16;
constexpr std::size_t kMaxMetricFormula = 512;  // in bytes
constexpr std::size_t kMaxMetricName = 32;      // in bytes: it is the head of a column
// The names that every formula may use, besides those of the operator file.
constexpr std::array<std::string_view, 3> kResultNames = {"bytes", "flops", "ns"};

bool is_result_name(std::string_view name) {
  return std::ranges::find(kResultNames, name) != kResultNames.end();
}

// The parameters with this name, in whichever design.
std::vector<const Parameter*> parameters_named(const Operator& op, std::string_view name) {
  std::vector<const Parameter*> found;
  for (const Design& design : op.designs) {
    for (const Parameter& parameter : design.params) {
      if (parameter.name == name) found.push_back(&parameter);
    }
  }
  return found;
}

std::vector<std::string> names_for_formulas(const Operator& op) {
  std::vector<std::string> names(kResultNames.begin(), kResultNames.end());
  for (const Dim& dim : op.dims) names.push_back(dim.name);
  for (const Flag& flag : op.flags) names.push_back(flag.name);
  for (const Design& design : op.designs) {
    for (const Parameter& parameter : design.params) names.push_back(parameter.name);
  }
  return names;
}

std::string sizeof_mistake(const Operator& op, std::string_view name) {
  constexpr std::string_view kStart = "sizeof(";
  const std::string dtype(name.substr(kStart.size(), name.size() - kStart.size() - 1));
  if (dtype_from_string(dtype)) return "";
  if (std::ranges::find(op.dtypes, dtype, &DTypeVariable::name) != op.dtypes.end()) return "";
  return fmt::format("'{}' is neither a dtype nor a name of /dtypes", dtype);
}

// What is wrong with a name in a formula; "" if nothing is.
std::string name_mistake(const Operator& op, std::string_view name) {
  if (name.starts_with("sizeof(")) return sizeof_mistake(op, name);
  const Name* const known = op.scope.find(name);
  if (is_result_name(name)) return "";
  if (known != nullptr && known->slot < kFirstOperatorSlot) {
    return fmt::format("'{}' belongs to a device; a metric is the same on every device", name);
  }
  if (known != nullptr && known->type != ValueType::symbol) return "";
  if (known != nullptr) return fmt::format("'{}' is a dtype; sizeof({}) is a number", name, name);
  if (name.starts_with("has(")) {
    return fmt::format("'{}' is not an optional tensor", name.substr(4, name.size() - 5));
  }
  const std::vector<const Parameter*> parameters = parameters_named(op, name);
  if (parameters.empty()) {
    return fmt::format("unknown name '{}'{}", name,
                       did_you_mean(std::string(name), names_for_formulas(op)));
  }
  const bool is_number = std::ranges::all_of(parameters, [](const Parameter* parameter) {
    return parameter->type != ValueType::symbol || parameter->is_real;
  });
  return is_number ? "" : fmt::format("the values of '{}' are no numbers", name);
}

// If the operator file gives one of these names its own meaning, a formula with it would be
// ambiguous.
Status check_result_names(const JsonCursor& metrics, const Operator& op) {
  for (const std::string_view name : kResultNames) {
    if (op.scope.find(name) == nullptr && parameters_named(op, name).empty()) continue;
    return metrics.error(fmt::format(
        "'{}' is a name of this operator, but in metrics it is {}: rename it to use metrics", name,
        name == "ns" ? "the time in nanoseconds" : fmt::format("/cost/{}", name)));
  }
  return {};
}

Status check_metric_name(const JsonCursor& metric) {
  const std::string& name = metric.key();
  const bool is_printable = std::ranges::none_of(
      name, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
  if (!name.empty() && name.size() <= kMaxMetricName && is_printable) return {};
  return metric.error(
      fmt::format("the name of a metric has 1 to {} bytes of printable text", kMaxMetricName));
}

}  // namespace

void decode_metrics(const JsonCursor& metrics, Operator& op, Mistakes& mistakes) {
  std::vector<JsonCursor> members;
  if (!mistakes.add(metrics.members(), members)) return;
  if (members.size() > kMaxMetrics) {
    mistakes.add(metrics.error(
        fmt::format("{} metrics; at most {} are shown", members.size(), kMaxMetrics)));
    return;
  }
  if (!mistakes.add(check_result_names(metrics, op))) return;
  for (const JsonCursor& member : members) {
    mistakes.add(check_metric_name(member));
    std::string text;
    if (!mistakes.add(member.string(), text)) continue;
    if (text.size() > kMaxMetricFormula) {
      mistakes.add(member.error(fmt::format("a formula of {} bytes; at most {} are read",
                                            text.size(), kMaxMetricFormula)));
      continue;
    }
    Result<MetricFormula> formula =
        MetricFormula::parse(text, [&](std::string_view name) { return name_mistake(op, name); });
    if (!formula.ok()) {
      mistakes.add(member.error(formula.status().message()));
      continue;
    }
    op.metrics.push_back({member.key(), std::move(formula).value()});
  }
}

}  // namespace mgtune

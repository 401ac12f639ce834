#include "final/problem_metrics.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/dtype.h"

namespace mgtune {
namespace {

// The value of "sizeof(T)" for the problem's T, or of "sizeof(f32)".
std::optional<double> bytes_of_dtype(const Problem& problem, std::string_view name) {
  constexpr std::string_view kSizeof = "sizeof(";
  const std::string_view word = name.substr(kSizeof.size(), name.size() - kSizeof.size() - 1);
  if (const auto dtype = dtype_from_string(word)) return size_in_bytes(*dtype);
  const auto variable = std::ranges::find(problem.op->dtypes, word, &DTypeVariable::name);
  if (variable == problem.op->dtypes.end()) return std::nullopt;
  const std::int64_t dtype = problem.slots[static_cast<std::size_t>(variable->slot)];
  return size_in_bytes(static_cast<DType>(dtype));
}

}  // namespace

Result<std::vector<Metric>> problem_metrics(const Problem& problem) {
  const Operator& op = *problem.op;
  std::vector<Metric> metrics;
  if (op.metrics.empty()) return metrics;
  MGTUNE_ASSIGN(const std::int64_t bytes, op.bytes.evaluate(problem.slots));
  MGTUNE_ASSIGN(const std::int64_t flops, op.flops.evaluate(problem.slots));
  const auto value_of = [&](std::string_view name) -> std::optional<double> {
    if (name == "bytes") return static_cast<double>(bytes);
    if (name == "flops") return static_cast<double>(flops);
    if (name.starts_with("sizeof(")) return bytes_of_dtype(problem, name);
    const Name* const known = op.scope.find(name);
    if (known == nullptr || known->type == ValueType::symbol) return std::nullopt;
    return static_cast<double>(problem.slots[static_cast<std::size_t>(known->slot)]);
  };
  for (const Metric& metric : op.metrics) {
    MGTUNE_ASSIGN(MetricFormula formula,
                  MetricFormula::parse(metric.formula.with_values(value_of)));
    metrics.push_back({metric.name, std::move(formula)});
  }
  return metrics;
}

}  // namespace mgtune

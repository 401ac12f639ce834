#include "fit/problem_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "selection/gpu_similarity.h"

namespace mgtune {
namespace {

constexpr int kMaxShift = 40;
constexpr std::int64_t kMaxMultiplier = 4095;

// multiplier * 2^exponent
struct RoundNumber {
  std::int64_t multiplier = 1;
  int exponent = 0;
};

// The number in [low, high) with the smallest odd multiplier. If there are several, the one that is
// nearest to the geometric middle.
RoundNumber round_number(double low, double high, bool whole) {
  const double middle = std::sqrt(std::max(low, 1e-9) * high);
  for (std::int64_t multiplier = 1; multiplier <= kMaxMultiplier; multiplier += 2) {
    RoundNumber found;
    double nearest = 0;
    for (int exponent = whole ? 0 : -kMaxShift / 2; exponent <= kMaxShift; ++exponent) {
      const double value = std::ldexp(static_cast<double>(multiplier), exponent);
      if (value < low || value >= high) continue;
      const double closeness = 1 / (1 + std::abs(std::log(value / middle)));
      if (closeness <= nearest) continue;
      nearest = closeness;
      found = {multiplier, exponent};
    }
    if (nearest > 0) return found;
  }
  return {static_cast<std::int64_t>(low), 0};  // only if low and high hardly differ
}

std::string times(std::int64_t factor, const std::string& term) {
  return factor == 1 ? term : fmt::format("{} * {}", factor, term);
}

}  // namespace

ProblemFeatures::ProblemFeatures(const Operator& op, std::span<const Problem> problems,
                                 const GpuRecord& gpu)
    : names_(op) {
  const DeviceLimits limits = device_of(gpu).limits;
  const std::int64_t bandwidth = bandwidth_of(gpu);
  for (const Problem& problem : problems) {
    slots_.push_back(names_.values(problem, limits, bandwidth));
  }
  for (const Flag& flag : op.flags) add(flag.name, "", true);
  for (const Tensor& tensor : op.tensors) {
    if (tensor.has_slot >= 0) add(fmt::format("has({})", tensor.name), "", true);
  }
  for (const DTypeVariable& dtype : op.dtypes) add(fmt::format("sizeof({})", dtype.name), "");
  add("bytes", "device.l2_bytes");
  add("bytes", "device.bandwidth");
  std::vector<const Dim*> dims;
  for (const Dim& dim : op.dims) {
    if (!dim.fallback) dims.push_back(&dim);  // strides nearly always have their default
  }
  std::string work;  // the product of all dims that are not static
  for (const Dim* dim : dims) {
    if (dim->kind == DimKind::fixed) continue;
    add(dim->name, "device.sm_count");
    work += (work.empty() ? "" : " * ") + dim->name;
  }
  if (!work.empty()) add(work, "device.sm_count");
  for (std::size_t a = 0; a < dims.size(); ++a) {
    for (std::size_t b = a + 1; b < dims.size(); ++b) {
      add(dims[a]->name + " * " + dims[b]->name, "device.sm_count");
    }
  }
  for (const Dim* dim : dims) {
    if (dim->kind != DimKind::fixed) continue;
    // A limit on the bytes of a row also holds for other dtypes.
    if (!op.dtypes.empty())
      add(fmt::format("{} * sizeof({})", dim->name, op.dtypes.front().name), "");
    add(dim->name, "");
  }
  for (const Dim* dim : dims) {
    if (dim->kind != DimKind::fixed) add(dim->name, "");
  }
  for (std::size_t a = 0; a < dims.size(); ++a) {
    for (std::size_t b = a + 1; b < dims.size(); ++b) add(dims[a]->name, dims[b]->name);
  }
}

void ProblemFeatures::add(std::string left, std::string unit, bool is_boolean) {
  Feature feature{std::move(left), std::move(unit), is_boolean, {}};
  const Result<Expression> numerator =
      names_.parse(feature.left, is_boolean ? ValueType::boolean : ValueType::integer);
  const Result<Expression> denominator =
      names_.parse(feature.unit.empty() ? "1" : feature.unit, ValueType::integer);
  if (!numerator.ok() || !denominator.ok()) return;
  for (const Slots& slots : slots_) {
    const Result<std::int64_t> above = numerator->evaluate(slots);
    const Result<std::int64_t> below = denominator->evaluate(slots);
    if (!above.ok() || !below.ok() || *below <= 0 || *above < 0) return;
    feature.values.push_back(static_cast<double>(*above) / static_cast<double>(*below));
  }
  const auto [low, high] = std::ranges::minmax(feature.values);
  if (low < high) features_.push_back(std::move(feature));
}

std::string ProblemFeatures::condition(std::size_t feature, double low, double high) const {
  const Feature& of = features_[feature];
  if (of.is_boolean) return "!" + of.left;
  const RoundNumber threshold = round_number(low, high, of.unit.empty());
  if (of.unit.empty()) {
    return fmt::format("{} <= {}", of.left, threshold.multiplier << threshold.exponent);
  }
  if (threshold.exponent >= 0) {
    return fmt::format("{} <= {}", of.left,
                       times(threshold.multiplier << threshold.exponent, of.unit));
  }
  return fmt::format("{} <= {}", times(std::int64_t{1} << -threshold.exponent, of.left),
                     times(threshold.multiplier, of.unit));
}

std::vector<bool> ProblemFeatures::evaluate(const std::string& condition) const {
  std::vector<bool> results(slots_.size(), false);
  const Result<Expression> parsed = names_.parse(condition, ValueType::boolean);
  if (!parsed.ok()) return results;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Result<std::int64_t> value = parsed->evaluate(slots_[i]);
    results[i] = value.ok() && *value != 0;
  }
  return results;
}

}  // namespace mgtune

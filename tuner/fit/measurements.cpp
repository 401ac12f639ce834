#include "fit/measurements.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "selection/evidence.h"

namespace mgtune {
namespace {

constexpr std::uint32_t kNoPlace = std::numeric_limits<std::uint32_t>::max();

Result<Problem> decode_problem_text(const Operator& op, const std::string& text) {
  MGTUNE_ASSIGN(const auto words, parse_assignments(text));
  return bind_problem(op, words);
}

// For each list of MeasuredRows: the indices of its entries in the measurements; kNoPlace if an
// entry is left out.
struct Places {
  std::vector<std::uint32_t> problems, variants;
};

Places decode_lists(const Operator& op, const MeasuredRows& from, Measurements& to) {
  Places places;
  for (const MeasuredRows::ProblemText& text : from.problems) {
    places.problems.push_back(kNoPlace);
    if (text.op != op.full_name()) continue;
    Result<Problem> problem = decode_problem_text(op, text.text);
    if (!problem.ok()) continue;
    places.problems.back() = static_cast<std::uint32_t>(to.problems.size());
    to.problems.push_back(*std::move(problem));
  }
  places.variants.assign(from.variants.size(), kNoPlace);
  std::vector<bool> of_op(from.variants.size(), false);
  for (const MeasuredRows::Row& row : from.rows) {
    if (places.problems[row.problem] != kNoPlace) of_op[row.variant] = true;
  }
  for (std::size_t i = 0; i < of_op.size(); ++i) {
    if (!of_op[i]) continue;
    Result<Variant> variant = parse_variant(op, from.variants[i]);
    if (!variant.ok()) continue;
    places.variants[i] = static_cast<std::uint32_t>(to.variants.size());
    to.variants.push_back(*std::move(variant));
  }
  return places;
}

using GpuProblem = std::pair<std::uint32_t, std::uint32_t>;

// The method that counts, for every problem and GPU that has times.
std::map<GpuProblem, std::uint32_t> counted_methods(const MeasuredRows& measured) {
  std::map<GpuProblem, std::map<std::uint32_t, double>> fastest;
  for (const MeasuredRows::Row& row : measured.rows) {
    if (row.method == 0) continue;
    double& time =
        fastest[{row.gpu, row.problem}].try_emplace(row.method, row.median_ns).first->second;
    time = std::min(time, row.median_ns);
  }
  std::map<GpuProblem, std::uint32_t> counted;
  for (const auto& [key, of_methods] : fastest) {
    const auto rank = [&](const auto& entry) {
      return method_rank(measured.methods[entry.first], entry.second);
    };
    counted[key] = std::ranges::min_element(of_methods, {}, rank)->first;
  }
  return counted;
}

}  // namespace

Measurements decode_measurements(const Operator& op, const MeasuredRows& measured) {
  Measurements measurements;
  measurements.gpus = measured.gpus;
  const Places places = decode_lists(op, measured, measurements);
  const std::map<GpuProblem, std::uint32_t> counted = counted_methods(measured);
  for (const MeasuredRows::Row& row : measured.rows) {
    const std::uint32_t problem = places.problems[row.problem];
    const std::uint32_t variant = places.variants[row.variant];
    if (problem == kNoPlace || variant == kNoPlace) continue;
    if (row.method != 0 && counted.at({row.gpu, row.problem}) != row.method) continue;
    measurements.rows.push_back({row.gpu, problem, variant, row.outcome, row.median_ns});
  }
  return measurements;
}

std::vector<bool> same_gpus(const Measurements& measurements, const GpuRecord& gpu) {
  std::vector<bool> same;
  for (const GpuRecord& other : measurements.gpus) same.push_back(is_same_gpu(other, gpu));
  return same;
}

}  // namespace mgtune

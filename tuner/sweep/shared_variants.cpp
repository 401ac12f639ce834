#include "sweep/shared_variants.h"

#include <algorithm>
#include <map>
#include <utility>

namespace mgtune {
namespace {

constexpr double kFast = 1.03;  // of the fastest time
constexpr std::size_t kMaxShared = 40;

}  // namespace

Result<std::vector<Variant>> shared_variants(Store& store, const Problem& problem,
                                             const GpuRecord& gpu, const std::string& method) {
  MGTUNE_ASSIGN(const MeasuredRows measured, store.measured(problem.op->full_name()));
  const std::string own = problem.text();
  const auto counts = [&](const MeasuredRows::Row& row) {
    return row.outcome == Outcome::ok && row.median_ns > 0 &&
           measured.methods[row.method] == method && measured.problems[row.problem].text != own &&
           is_same_gpu(measured.gpus[row.gpu], gpu);
  };
  std::map<std::uint32_t, double> fastest;  // by problem
  for (const MeasuredRows::Row& row : measured.rows) {
    if (!counts(row)) continue;
    double& best = fastest.try_emplace(row.problem, row.median_ns).first->second;
    best = std::min(best, row.median_ns);
  }
  std::map<std::string, int> wins;  // by variant, so that equal ones have one order
  for (const MeasuredRows::Row& row : measured.rows) {
    if (counts(row) && row.median_ns <= kFast * fastest[row.problem]) {
      ++wins[measured.variants[row.variant]];
    }
  }
  std::vector<std::pair<std::string, int>> order(wins.begin(), wins.end());
  std::ranges::stable_sort(order, std::greater(), &std::pair<std::string, int>::second);
  std::vector<Variant> variants;
  for (const auto& [text, count] : order) {
    if (variants.size() == kMaxShared) break;
    Result<Variant> variant = parse_variant(*problem.op, text);
    if (variant.ok()) variants.push_back(*std::move(variant));
  }
  return variants;
}

}  // namespace mgtune

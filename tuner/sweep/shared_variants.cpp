#include "sweep/shared_variants.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace mgtune {
namespace {

constexpr double kFast = 1.02;  // of the fastest time
constexpr std::size_t kMaxShared = 40;

struct Shared {
  Variant variant;
  std::set<std::uint32_t> fast_at;  // problems
};

// Moves the variants that are fast at most problems to `chosen`, one after the other, where a
// problem counts no more after one of them was chosen.
void choose_cover(std::vector<Shared>& left, std::vector<Variant>& chosen) {
  std::set<std::uint32_t> open;
  for (const Shared& one : left) open.insert(one.fast_at.begin(), one.fast_at.end());
  const auto gain = [&](const Shared& one) {
    return std::ranges::count_if(one.fast_at, [&](std::uint32_t p) { return open.contains(p); });
  };
  while (!open.empty() && chosen.size() < kMaxShared) {
    const auto best = std::ranges::max_element(left, {}, gain);  // of equal ones the first
    for (const std::uint32_t problem : best->fast_at) open.erase(problem);
    chosen.push_back(std::move(best->variant));
    left.erase(best);
  }
}

}  // namespace

Result<std::vector<Variant>> shared_variants(Store& store, const Problem& problem,
                                             const GpuRecord& gpu, const std::string& method,
                                             const std::function<bool(const Variant&)>& admits) {
  MGTUNE_ASSIGN(const MeasuredRows measured, store.measured(problem.op->full_name()));
  const std::string own = problem.text();
  const auto counts = [&](const MeasuredRows::Row& row) {
    return row.median_ns > 0 && measured.methods[row.method] == method &&
           measured.problems[row.problem].text != own && is_same_gpu(measured.gpus[row.gpu], gpu);
  };
  std::map<std::uint32_t, double> fastest;  // by problem
  for (const MeasuredRows::Row& row : measured.rows) {
    if (!counts(row)) continue;
    double& best = fastest.try_emplace(row.problem, row.median_ns).first->second;
    best = std::min(best, row.median_ns);
  }
  std::map<std::string, std::set<std::uint32_t>> fast_at;  // by variant: one order in every store
  for (const MeasuredRows::Row& row : measured.rows) {
    if (counts(row) && row.median_ns <= kFast * fastest[row.problem]) {
      fast_at[measured.variants[row.variant]].insert(row.problem);
    }
  }
  std::vector<Shared> left;
  for (auto& [text, problems] : fast_at) {
    Result<Variant> variant = parse_variant(*problem.op, text);
    if (variant.ok() && admits(*variant)) left.push_back({*std::move(variant), problems});
  }
  std::vector<Variant> chosen;
  while (!left.empty() && chosen.size() < kMaxShared) choose_cover(left, chosen);
  return chosen;
}

}  // namespace mgtune

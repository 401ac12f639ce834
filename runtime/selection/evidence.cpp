#include "selection/evidence.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

namespace mgtune {
namespace {

constexpr double kShortNs = 20'000;

// The order: methods that resemble programs come before those that rank variants best.
constexpr std::array<std::string_view, 6> kMethods = {
    "rotating", "rotating_events", "graph", "cold", "hot", "emulation"};

Result<Problem> decode_problem(const Operator& op, const std::string& text) {
  MGTUNE_ASSIGN(const auto words, parse_assignments(text));
  return bind_problem(op, words);
}

Status check_variant(const Operator& op, const std::string& variant) {
  if (is_of_another_version(op, variant)) return {};
  return parse_variant(op, variant).status();
}

}  // namespace

std::size_t method_rank(const std::string& method, double fastest_ns) {
  if (method == kTokenMethod) return 0;
  if (method == "graph" && fastest_ns < kShortNs) return 1;
  const auto found = std::find(kMethods.begin(), kMethods.end(), method);
  return 2 + static_cast<std::size_t>(found - kMethods.begin());
}

std::vector<TunedEntry> decode_tuned(const Operator& op, std::span<const TunedView> rows) {
  struct Kept {
    std::size_t place, rank;
    std::int64_t sweep;
  };
  std::vector<TunedEntry> entries;
  std::vector<GpuRecord> gpus;
  std::map<std::int64_t, std::size_t> gpu_places;  // by row id
  std::map<std::pair<std::size_t, std::string>, Kept> seen;
  for (const TunedView& row : rows) {
    if (row.op != op.full_name()) continue;
    Result<Problem> problem = decode_problem(op, row.problem);
    Result<Variant> variant = parse_variant(op, row.tuned.variant);
    if (!problem.ok() || !variant.ok()) continue;
    TunedEntry entry{*std::move(problem), *std::move(variant), row.gpu, row.tuned.median_ns,
                     row.tuned.build_sha256};
    const std::size_t rank = method_rank(row.tuned.method, row.tuned.median_ns);
    auto gpu = gpu_places.find(row.tuned.gpu);
    if (gpu == gpu_places.end()) {
      gpu = gpu_places.emplace(row.tuned.gpu, find_same_gpu(gpus, row.gpu)).first;
      if (gpu->second == gpus.size()) gpus.push_back(row.gpu);
    }
    const Kept kept{entries.size(), rank, row.tuned.sweep};
    const auto [at, is_new] = seen.try_emplace({gpu->second, entry.problem.text()}, kept);
    Kept& before = at->second;
    if (is_new) {
      entries.push_back(std::move(entry));
    } else if (rank < before.rank || (rank == before.rank && kept.sweep > before.sweep)) {
      entries[before.place] = std::move(entry);
      before = {before.place, rank, kept.sweep};
    }
  }
  return entries;
}

Status check_offered(const Operator& op, std::span<const TunedView> tuned) {
  const std::string name = op.full_name();
  for (const TunedView& row : tuned) {
    if (row.op != name) continue;
    const std::string pick = "the pick of " + name + " " + row.problem;
    MGTUNE_TRY(decode_problem(op, row.problem).status().with_context(pick));
    MGTUNE_TRY(check_variant(op, row.tuned.variant).with_context(pick));
  }
  return {};
}

}  // namespace mgtune

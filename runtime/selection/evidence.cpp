#include "selection/evidence.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace mgtune {
namespace {

constexpr double kShortNs = 20'000;

// Methods that resemble programs come first, then those that rank variants best.
constexpr std::array<std::string_view, 6> kMethods = {
    "rotating", "rotating_events", "graph", "cold", "hot", "emulation"};

Status check_variant(const Operator& op, const std::string& variant) {
  if (is_of_another_version(op, variant)) return {};
  return parse_variant(op, variant).status();
}

}  // namespace

bool is_strict() {
  const char* const word = std::getenv("MGTUNE_STRICT");
  return word != nullptr && *word != '\0' && std::string_view(word) != "0";
}

std::size_t method_rank(const std::string& method, double fastest_ns) {
  if (method == kTokenMethod) return 0;
  if (method == "graph" && fastest_ns < kShortNs) return 1;
  const auto found = std::find(kMethods.begin(), kMethods.end(), method);
  return 2 + static_cast<std::size_t>(found - kMethods.begin());
}

std::vector<const TunedEntry*> Evidence::usable_picks(const Binding& binding,
                                                      const GpuRecord& gpu) const {
  std::vector<const TunedEntry*> picks = tuned.usable(binding, gpu);
  if (more == nullptr) return picks;
  std::set<Slots> known;
  for (const TunedEntry* entry : picks) known.insert(entry->problem.slots);
  for (const TunedEntry* entry : more->usable(binding, gpu)) {
    if (!known.contains(entry->problem.slots)) picks.push_back(entry);
  }
  return picks;
}

Result<Problem> decode_problem(const Operator& op, const std::string& text) {
  MGTUNE_ASSIGN(const auto words, parse_assignments(text));
  return bind_problem(op, words);
}

std::optional<DecodedPick> decode_pick(const Operator& op, const TunedView& row) {
  if (row.op != op.full_name()) return std::nullopt;
  Result<Problem> problem = decode_problem(op, row.problem);
  Result<Variant> variant = parse_variant(op, row.tuned.variant);
  if (!problem.ok() || !variant.ok()) return std::nullopt;
  return DecodedPick{{*std::move(problem), *std::move(variant), row.gpu, row.tuned.median_ns,
                      row.tuned.build_sha256},
                     method_rank(row.tuned.method, row.tuned.median_ns),
                     row.tuned.sweep};
}

std::vector<TunedEntry> counted_picks(std::vector<DecodedPick> picks) {
  std::vector<DecodedPick> counted;
  std::vector<GpuRecord> gpus;
  std::map<std::pair<std::size_t, Slots>, std::size_t> places;  // in `counted`
  for (DecodedPick& pick : picks) {
    const std::size_t gpu = find_same_gpu(gpus, pick.entry.gpu);
    if (gpu == gpus.size()) gpus.push_back(pick.entry.gpu);
    const auto [at, is_new] = places.try_emplace({gpu, pick.entry.problem.slots}, counted.size());
    if (is_new) {
      counted.push_back(std::move(pick));
      continue;
    }
    DecodedPick& before = counted[at->second];
    const bool is_newer = pick.method_rank == before.method_rank && pick.sweep > before.sweep;
    if (pick.method_rank < before.method_rank || is_newer) before = std::move(pick);
  }
  std::vector<TunedEntry> entries;
  entries.reserve(counted.size());
  for (DecodedPick& pick : counted) entries.push_back(std::move(pick.entry));
  return entries;
}

std::vector<TunedEntry> decode_tuned(const Operator& op, std::span<const TunedView> rows) {
  std::vector<DecodedPick> picks;
  for (const TunedView& row : rows) {
    if (std::optional<DecodedPick> pick = decode_pick(op, row)) picks.push_back(*std::move(pick));
  }
  return counted_picks(std::move(picks));
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

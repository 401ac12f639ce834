#include "sweep/warm_start.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "selection/variant_selection.h"

namespace mgtune {
namespace {

// More than a search starts with, because it passes over some: the ladder's.
constexpr std::size_t kMostVariants = 8;

// Farther than any dims, nearer than another GPU.
constexpr double kOtherDTypes = 1e4;

struct Neighbor {
  const TunedEntry* entry;
  double distance;
};

// The dtypes and flags of `to`; whether they were others.
bool take_dtypes_and_flags(const Operator& op, const Slots& to, Slots& slots) {
  bool differed = false;
  const auto take = [&](int slot) {
    const auto at = static_cast<std::size_t>(slot);
    differed = std::exchange(slots[at], to[at]) != to[at] || differed;
  };
  for (const DTypeVariable& dtype : op.dtypes) take(dtype.slot);
  for (const Flag& flag : op.flags) take(flag.slot);
  return differed;
}

// Nearest first. The runtime passes over other dtypes and flags; here they come last on each GPU,
// so they are measured as if they were the problem's.
std::vector<Neighbor> neighbors(const Problem& problem, const DeviceInfo& device,
                                const std::vector<TunedEntry>& entries) {
  const Operator& op = *problem.op;
  const GpuRecord here = gpu_record(device);
  std::vector<TunedEntry> alike = entries;
  std::vector<bool> differs;
  differs.reserve(alike.size());
  for (TunedEntry& entry : alike) {
    differs.push_back(take_dtypes_and_flags(op, problem.slots, entry.problem.slots));
  }
  std::vector<Neighbor> found;
  for (const TunedDistance& at : tuned_distances(problem.binding(), device, alike)) {
    const auto place = static_cast<std::size_t>(at.entry - alike.data());
    const TunedEntry& entry = entries[place];
    if (entry.gpu == here && entry.problem.text() == problem.text()) continue;
    found.push_back({&entry, at.distance +
                                 dims_distance(op, at.entry->problem.slots, problem.slots) +
                                 (differs[place] ? kOtherDTypes : 0)});
  }
  std::ranges::stable_sort(found, {}, &Neighbor::distance);
  return found;
}

bool has_time_of(const OutcomeView& row, const TunedEntry& entry) {
  return row.outcome == Outcome::ok && row.measurement.has_value() && row.gpu == entry.gpu &&
         row.problem == entry.problem.text();
}

WarmStart fastest_of(const TunedEntry& entry, const std::vector<OutcomeView>& rows,
                     const VariantSet& set, const std::string& method) {
  std::string counted;  // method
  for (const OutcomeView& row : rows) {
    if (!has_time_of(row, entry)) continue;
    if (counted.empty() || row.measurement->method == method) counted = row.measurement->method;
  }
  WarmStart variants;
  for (const OutcomeView& row : rows) {
    if (!has_time_of(row, entry) || row.measurement->method != counted) continue;
    Result<Variant> variant = parse_variant(*entry.problem.op, row.variant);
    if (!variant.ok() || !set.admits(*variant)) continue;
    variants.push_back({*std::move(variant), row.measurement->median_ns});
  }
  std::ranges::stable_sort(variants, {}, &WarmVariant::relative_time);
  if (variants.size() > kMostVariants) variants.resize(kMostVariants);
  for (std::size_t i = variants.size(); i > 0; --i) {
    variants[i - 1].relative_time /= variants[0].relative_time;
  }
  return variants;
}

}  // namespace

Result<WarmSource> find_warm_start(Store& store, const Problem& problem, const DeviceInfo& device,
                                   const VariantSet& set, const std::string& method) {
  const std::string op = problem.op->full_name();
  MGTUNE_ASSIGN(const std::vector<TunedView> tuned, store.tuned(op));
  const std::vector<TunedEntry> entries = decode_tuned(*problem.op, tuned);
  const std::vector<Neighbor> found = neighbors(problem, device, entries);
  if (found.empty()) return WarmSource();
  MGTUNE_ASSIGN(const std::vector<OutcomeView> rows, store.outcomes(0, op));
  for (const Neighbor& neighbor : found) {
    WarmStart variants = fastest_of(*neighbor.entry, rows, set, method);
    if (variants.empty()) continue;
    return WarmSource{std::move(variants),
                      neighbor.entry->problem.text() + " on " + neighbor.entry->gpu.model};
  }
  return WarmSource();
}

}  // namespace mgtune

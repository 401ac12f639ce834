#include "sweep/warm_start.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "selection/variant_selection.h"

namespace mgtune {
namespace {

// More than a search starts with, because the search skips those that are in the ladder.
constexpr std::size_t kMaxVariants = 8;

// The distance of other dtypes or flags: larger than that of any dims, and smaller than that of
// another GPU.
constexpr double kOtherDTypes = 1e4;

struct Neighbor {
  const TunedEntry* entry;
  double distance;
};

// Sets the dtypes and flags in `slots` to those of `problem`. Returns whether any of them differed.
bool copy_dtypes_and_flags(const Problem& problem, Slots& slots) {
  bool differed = false;
  const auto copy = [&](int slot) {
    const auto at = static_cast<std::size_t>(slot);
    const std::int64_t wanted = problem.slots[at];
    differed = std::exchange(slots[at], wanted) != wanted || differed;
  };
  for (const DTypeVariable& dtype : problem.op->dtypes) copy(dtype.slot);
  for (const Flag& flag : problem.op->flags) copy(flag.slot);
  return differed;
}

// The nearest comes first. The runtime does not use problems of other dtypes and flags. Here they
// come last on each GPU, so their distance is computed as if they had the dtypes of `problem`.
std::vector<Neighbor> neighbors(const Problem& problem, const DeviceInfo& device,
                                const std::vector<TunedEntry>& entries) {
  const Operator& op = *problem.op;
  const GpuRecord here = gpu_record(device);
  std::vector<TunedEntry> alike = entries;
  std::vector<bool> differs;
  differs.reserve(alike.size());
  for (TunedEntry& entry : alike) {
    differs.push_back(copy_dtypes_and_flags(problem, entry.problem.slots));
  }
  std::vector<Neighbor> found;
  for (const TunedDistance& at : tuned_distances(problem.binding(), device, alike)) {
    const auto place = static_cast<std::size_t>(at.entry - alike.data());
    const TunedEntry& entry = entries[place];
    if (is_same_gpu(entry.gpu, here) && entry.problem.text() == problem.text()) continue;
    found.push_back({&entry, at.distance +
                                 dims_distance(op, at.entry->problem.slots, problem.slots) +
                                 (differs[place] ? kOtherDTypes : 0)});
  }
  std::ranges::stable_sort(found, {}, &Neighbor::distance);
  return found;
}

bool has_time(const OutcomeView& row, const GpuRecord& gpu) {
  return row.outcome == Outcome::ok && row.measurement.has_value() && is_same_gpu(row.gpu, gpu);
}

// `rows` are of the entry's problem, on any GPU.
WarmStart fastest_of(const TunedEntry& entry, const std::vector<OutcomeView>& rows,
                     const VariantSet& set, const std::string& method) {
  std::string counted;  // the method whose times count
  for (const OutcomeView& row : rows) {
    if (!has_time(row, entry.gpu)) continue;
    if (counted.empty() || row.measurement->method == method) counted = row.measurement->method;
  }
  WarmStart variants;
  for (const OutcomeView& row : rows) {
    if (!has_time(row, entry.gpu) || row.measurement->method != counted) continue;
    Result<Variant> variant = parse_variant(*entry.problem.op, row.variant);
    if (!variant.ok() || !set.admits(*variant)) continue;
    variants.push_back({*std::move(variant), row.measurement->median_ns});
  }
  std::ranges::stable_sort(variants, {}, &WarmVariant::relative_time);
  if (variants.size() > kMaxVariants) variants.resize(kMaxVariants);
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
  for (const Neighbor& neighbor : neighbors(problem, device, entries)) {
    const std::string text = neighbor.entry->problem.text();
    MGTUNE_ASSIGN(const std::vector<OutcomeView> rows, store.outcomes(0, op, text));
    WarmStart variants = fastest_of(*neighbor.entry, rows, set, method);
    if (variants.empty()) continue;
    return WarmSource{std::move(variants), text + " on " + neighbor.entry->gpu.model};
  }
  return WarmSource();
}

}  // namespace mgtune

#include "sweep/warm_start.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "selection/evidence.h"
#include "selection/gpu_similarity.h"
#include "selection/variant_selection.h"

namespace mgtune {
namespace {

// The distance of other dtypes or flags. It is larger than any distance of dims, and smaller than
// the distance of another GPU.
constexpr double kOtherDTypes = 1e4;

// The distance of other dtypes of the same sizes, such as f16 and bf16, for which the same variants
// are fast.
constexpr double kSameSizes = 0.1;

constexpr double kStaticWeight = 4;      // a static dim is compiled in: other code runs
constexpr double kPresenceWeight = 0.5;  // one optional tensor more or less is a small difference
constexpr double kPerGpu = 1e6;          // above any sum of log distances

// The distance of a tuned entry from a binding on a device, without dynamic and hint dims.
struct TunedDistance {
  const TunedEntry* entry;
  bool same_gpu;
  double distance;
};

// The sum over static dims of 4 * |log2 a - log2 b|, plus 0.5 for each optional tensor that only
// one of the two has.
double binding_distance(const Operator& op, const Slots& a, const Slots& b) {
  double distance = 0;
  for (const Dim& dim : op.dims) {
    if (dim.kind != DimKind::fixed) continue;
    const auto slot = std::size_t(dim.slot);
    distance += kStaticWeight * std::abs(log_extent(a[slot]) - log_extent(b[slot]));
  }
  for (const Tensor& tensor : op.tensors) {
    if (tensor.has_slot < 0) continue;
    const auto slot = std::size_t(tensor.has_slot);
    if (a[slot] != b[slot]) distance += kPresenceWeight;
  }
  return distance;
}

// The entries with the binding's dtypes and flags. Entries of the same GPU come before those of any
// other GPU, and nearer GPUs before farther ones.
std::vector<TunedDistance> tuned_distances(const Binding& binding, const DeviceInfo& device,
                                           const std::vector<TunedEntry>& tuned) {
  const GpuRecord here = gpu_record(device);
  std::vector<TunedDistance> tuned_distances;
  std::vector<double> gpus;  // the distances of the GPUs that occur; 0 for this GPU
  for (const TunedEntry& entry : tuned) {
    if (entry.emulation() != here.emulation ||
        !same_dtypes_and_flags(*binding.op, binding.slots, entry.problem.slots)) {
      continue;
    }
    const bool same_gpu = is_same_gpu(entry.gpu, here);
    // Adds one to the distance, so that a GPU that differs only in memory size comes after this
    // one.
    gpus.push_back(same_gpu ? 0 : 1 + gpu_distance(entry.gpu, here));
    tuned_distances.push_back(
        {&entry, same_gpu, binding_distance(*binding.op, binding.slots, entry.problem.slots)});
  }
  std::vector<double> ranks = gpus;
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  for (std::size_t i = 0; i < tuned_distances.size(); ++i) {
    if (tuned_distances[i].same_gpu) continue;
    const auto rank = std::lower_bound(ranks.begin(), ranks.end(), gpus[i]) - ranks.begin() + 1;
    tuned_distances[i].distance += kPerGpu * static_cast<double>(rank);
  }
  std::ranges::stable_sort(tuned_distances, {}, &TunedDistance::distance);
  return tuned_distances;
}

struct Neighbor {
  const TunedEntry* entry;
  double distance;
};

// Sets the dtypes and flags in `slots` to those of `problem`. Returns the distance between the old
// and the new ones.
double copy_dtypes_and_flags(const Problem& problem, Slots& slots) {
  double distance = 0;
  const auto copy = [&](int slot, const auto& distance_of) {
    const auto at = static_cast<std::size_t>(slot);
    const std::int64_t wanted = problem.slots[at], was = std::exchange(slots[at], wanted);
    if (was != wanted) distance = std::max(distance, distance_of(was, wanted));
  };
  for (const DTypeVariable& dtype : problem.op->dtypes) {
    copy(dtype.slot, [](std::int64_t a, std::int64_t b) {
      const bool same_size =
          size_in_bytes(static_cast<DType>(a)) == size_in_bytes(static_cast<DType>(b));
      return same_size ? kSameSizes : kOtherDTypes;
    });
  }
  for (const Flag& flag : problem.op->flags) {
    copy(flag.slot, [](std::int64_t, std::int64_t) { return kOtherDTypes; });
  }
  return distance;
}

// The neighbors, the nearest first. The runtime does not use problems with other dtypes and flags,
// but here they count too. Their distance is computed as if they had the dtypes and flags of
// `problem`, and the distance of the dtypes and flags is added. So problems with dtypes of other
// sizes, or with other flags, come last on each GPU.
std::vector<Neighbor> neighbors(const Problem& problem, const DeviceInfo& device,
                                const std::vector<TunedEntry>& entries) {
  const Operator& op = *problem.op;
  const GpuRecord here = gpu_record(device);
  std::vector<TunedEntry> alike = entries;
  std::vector<double> apart;
  apart.reserve(alike.size());
  for (TunedEntry& entry : alike) {
    apart.push_back(copy_dtypes_and_flags(problem, entry.problem.slots));
  }
  std::vector<Neighbor> found;
  for (const TunedDistance& at : tuned_distances(problem.binding(), device, alike)) {
    const auto place = static_cast<std::size_t>(at.entry - alike.data());
    const TunedEntry& entry = entries[place];
    if (is_same_gpu(entry.gpu, here) && entry.problem.text() == problem.text()) continue;
    found.push_back(
        {&entry,
         at.distance + dims_distance(op, at.entry->problem.slots, problem.slots) + apart[place]});
  }
  std::ranges::stable_sort(found, {}, &Neighbor::distance);
  return found;
}

bool has_time(const OutcomeView& row, const GpuRecord& gpu) {
  return row.outcome == Outcome::ok && row.measurement.has_value() && is_same_gpu(row.gpu, gpu);
}

// `rows` are of the entry's problem, on any GPU.
WarmStart fastest_at(const TunedEntry& entry, const std::vector<OutcomeView>& rows,
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
  return fastest_of(std::move(variants));
}

}  // namespace

Result<std::vector<Variant>> winners_nearby(Store& store, const Problem& problem,
                                            const DeviceInfo& device, const VariantSet& set,
                                            std::size_t count) {
  MGTUNE_ASSIGN(const std::vector<TunedView> tuned, store.tuned(problem.op->full_name()));
  const std::vector<TunedEntry> entries = decode_tuned(*problem.op, tuned);
  std::vector<Variant> winners;
  for (const Neighbor& neighbor : neighbors(problem, device, entries)) {
    if (winners.size() == count) break;
    const Variant& winner = neighbor.entry->variant;
    if (!is_same_gpu(neighbor.entry->gpu, gpu_record(device)) || !set.admits(winner)) continue;
    if (std::ranges::find(winners, winner) == winners.end()) winners.push_back(winner);
  }
  return winners;
}

Result<WarmSource> find_warm_start(Store& store, const Problem& problem, const DeviceInfo& device,
                                   const VariantSet& set, const std::string& method) {
  const std::string op = problem.op->full_name();
  MGTUNE_ASSIGN(const std::vector<TunedView> tuned, store.tuned(op));
  const std::vector<TunedEntry> entries = decode_tuned(*problem.op, tuned);
  for (const Neighbor& neighbor : neighbors(problem, device, entries)) {
    const std::string text = neighbor.entry->problem.text();
    MGTUNE_ASSIGN(const std::vector<OutcomeView> rows, store.outcomes(0, op, text));
    WarmStart variants = fastest_at(*neighbor.entry, rows, set, method);
    if (variants.empty()) continue;
    return WarmSource{std::move(variants), text + " on " + neighbor.entry->gpu.model};
  }
  return WarmSource();
}

}  // namespace mgtune

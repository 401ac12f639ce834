#include "dispatch/variant_selection.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "dispatch/admission.h"

namespace mgtune {
namespace {

constexpr double kStaticWeight = 4;      // a static dim is compiled in: other code runs
constexpr double kPresenceWeight = 0.5;  // an optional tensor more or less is a small difference
constexpr double kPerGpu = 1e6;          // above any sum of log distances

// Of the rows of one problem and GPU the first of these methods counts: how programs run comes
// before how variants are told apart.
constexpr std::array<std::string_view, 6> kMethods = {
    "rotating", "rotating_events", "graph", "cold", "hot", "emulation"};

std::size_t method_rank(const std::string& method) {
  return static_cast<std::size_t>(std::find(kMethods.begin(), kMethods.end(), method) -
                                  kMethods.begin());
}

bool same_dtypes_and_flags(const Operator& op, const Slots& a, const Slots& b) {
  const auto same = [&](const auto& name) {
    return a[std::size_t(name.slot)] == b[std::size_t(name.slot)];
  };
  return std::all_of(op.dtypes.begin(), op.dtypes.end(), same) &&
         std::all_of(op.flags.begin(), op.flags.end(), same);
}

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

bool same_dims(const Problem& a, const Problem& b) {
  return std::all_of(a.op->dims.begin(), a.op->dims.end(), [&](const Dim& dim) {
    return a.slots[std::size_t(dim.slot)] == b.slots[std::size_t(dim.slot)];
  });
}

bool same_binding(const Operator& op, const Slots& a, const Slots& b) {
  const auto same = [&](int slot) { return a[std::size_t(slot)] == b[std::size_t(slot)]; };
  return std::all_of(op.dims.begin(), op.dims.end(),
                     [&](const Dim& d) { return d.kind != DimKind::fixed || same(d.slot); }) &&
         std::all_of(op.tensors.begin(), op.tensors.end(),
                     [&](const Tensor& t) { return t.has_slot < 0 || same(t.has_slot); });
}

// "sm_90a" -> 90; 0 for what is no CUDA architecture.
std::int64_t architecture_number(const std::string& arch) {
  std::int64_t number = 0;
  if (arch.starts_with("sm_")) std::from_chars(arch.data() + 3, arch.data() + arch.size(), number);
  return number;
}

// A generation apart weighs like a factor of 256 in everything else; within one, 2^4.
double gpu_distance(const GpuRecord& a, const GpuRecord& b) {
  const std::int64_t arch_a = architecture_number(a.arch), arch_b = architecture_number(b.arch);
  const auto generation = static_cast<double>(std::abs(arch_a / 10 - arch_b / 10));
  return 8 * generation + (arch_a != arch_b ? 4 : 0) +
         std::abs(log_extent(a.sm_count) - log_extent(b.sm_count)) +
         std::abs(log_extent(a.max_shared_bytes) - log_extent(b.max_shared_bytes)) +
         std::abs(log_extent(a.l2_bytes) - log_extent(b.l2_bytes));
}

}  // namespace

std::string_view to_string(SelectionStep step) {
  switch (step) {
    case SelectionStep::exact:
      return "exact problem";
    case SelectionStep::nearest_problem:
      return "nearest problem";
    case SelectionStep::nearest_gpu:
      return "nearest GPU";
    case SelectionStep::default_ladder:
      return "default ladder";
  }
  return "unknown";
}

double log_extent(std::int64_t dim) {
  return std::log2(static_cast<double>(std::max<std::int64_t>(dim, 1)));
}

double dims_distance(const Operator& op, const Slots& a, const Slots& b) {
  double distance = 0;
  for (const Dim& dim : op.dims) {
    if (dim.kind == DimKind::fixed) continue;
    const auto slot = std::size_t(dim.slot);
    distance += std::abs(log_extent(a[slot]) - log_extent(b[slot]));
  }
  return distance;
}

SelectionStep step_of(const TunedDistance& tuned_distance, const Problem& problem) {
  if (!tuned_distance.same_gpu) return SelectionStep::nearest_gpu;
  const bool exact =
      tuned_distance.same_binding && same_dims(problem, tuned_distance.entry->problem);
  return exact ? SelectionStep::exact : SelectionStep::nearest_problem;
}

std::string describe(const TunedEntry& entry) {
  return "tuned for " + entry.problem.text() + " on " + entry.gpu.model;
}

GpuRecord gpu_record(const DeviceInfo& device) {
  GpuRecord record;
  record.model = device.name;
  record.arch = device.arch;
  record.sm_count = device.limits.sm_count;
  record.l2_bytes = device.limits.l2_bytes;
  record.memory_bytes = device.memory_bytes;
  record.max_shared_bytes = device.limits.max_shared_bytes;
  record.mig_profile = device.mig_profile;
  record.emulation = device.kind == DeviceKind::cpu;
  return record;
}

std::vector<TunedEntry> decode_tuned(const Operator& op, const std::vector<TunedView>& rows) {
  std::vector<TunedEntry> entries;
  std::map<std::pair<std::int64_t, std::string>, std::pair<std::size_t, std::size_t>> seen;
  for (const TunedView& row : rows) {
    if (row.op != op.full_name()) continue;
    Result<std::map<std::string, std::string>> words = parse_assignments(row.problem);
    if (!words.ok()) continue;
    Result<Problem> problem = bind_problem(op, *words);
    Result<Variant> variant = parse_variant(op, row.tuned.variant);
    if (!problem.ok() || !variant.ok()) continue;
    TunedEntry entry{std::move(*problem), std::move(*variant), row.gpu, row.tuned.median_ns,
                     row.tuned.build_sha256};
    const std::size_t rank = method_rank(row.tuned.method);
    const auto [at, is_new] =
        seen.try_emplace({row.tuned.gpu, entry.problem.text()}, entries.size(), rank);
    if (is_new) {
      entries.push_back(std::move(entry));
    } else if (rank < at->second.second) {
      at->second.second = rank;
      entries[at->second.first] = std::move(entry);
    }
  }
  return entries;
}

std::vector<TunedDistance> tuned_distances(const Binding& binding, const DeviceInfo& device,
                                           const std::vector<TunedEntry>& tuned) {
  const GpuRecord here = gpu_record(device);
  std::vector<TunedDistance> tuned_distances;
  std::vector<double> gpus;  // distances of the GPUs that occur; 0 for this one
  for (const TunedEntry& entry : tuned) {
    if (entry.emulation() != here.emulation ||
        !same_dtypes_and_flags(*binding.op, binding.slots, entry.problem.slots)) {
      continue;
    }
    const bool same_gpu = entry.gpu == here;
    // One more than the distance keeps a GPU that differs in memory size alone behind this one.
    gpus.push_back(same_gpu ? 0 : 1 + gpu_distance(entry.gpu, here));
    tuned_distances.push_back({&entry, same_gpu,
                               same_binding(*binding.op, binding.slots, entry.problem.slots),
                               binding_distance(*binding.op, binding.slots, entry.problem.slots)});
  }
  std::vector<double> ranks = gpus;
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  for (std::size_t i = 0; i < tuned_distances.size(); ++i) {
    if (tuned_distances[i].same_gpu) continue;
    const auto rank = std::lower_bound(ranks.begin(), ranks.end(), gpus[i]) - ranks.begin() + 1;
    tuned_distances[i].distance += kPerGpu * static_cast<double>(rank);
  }
  std::stable_sort(
      tuned_distances.begin(), tuned_distances.end(),
      [](const TunedDistance& a, const TunedDistance& b) { return a.distance < b.distance; });
  return tuned_distances;
}

std::vector<SelectedVariant> select_variants(const Problem& problem, const DeviceInfo& device,
                                             const std::vector<TunedEntry>& tuned) {
  const Operator& op = *problem.op;
  std::vector<TunedDistance> ranked = tuned_distances(problem.binding(), device, tuned);
  for (TunedDistance& tuned_distance : ranked) {
    tuned_distance.distance +=
        dims_distance(op, tuned_distance.entry->problem.slots, problem.slots);
  }
  std::stable_sort(
      ranked.begin(), ranked.end(),
      [](const TunedDistance& a, const TunedDistance& b) { return a.distance < b.distance; });

  std::vector<SelectedVariant> candidates;
  const auto consider = [&](SelectedVariant candidate) {
    const bool known =
        std::any_of(candidates.begin(), candidates.end(),
                    [&](const SelectedVariant& c) { return c.variant == candidate.variant; });
    if (!known && may_serve(problem, candidate.variant, device.limits)) {
      candidates.push_back(std::move(candidate));
    }
  };
  for (const TunedDistance& tuned_distance : ranked) {
    consider({tuned_distance.entry->variant, step_of(tuned_distance, problem),
              describe(*tuned_distance.entry), tuned_distance.entry->median_ns});
  }
  for (const Variant& variant : default_ladder(op)) {
    consider({variant, SelectionStep::default_ladder, "a default of the operator", 0});
  }
  return candidates;
}

}  // namespace mgtune

#include "selection/variant_selection.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "selection/selector.h"

namespace mgtune {
namespace {

constexpr double kStaticWeight = 4;      // a static dim is compiled in: other code runs
constexpr double kPresenceWeight = 0.5;  // an optional tensor more or less is a small difference
constexpr double kPerGpu = 1e6;          // above any sum of log distances

bool same_dims(const Problem& a, const Problem& b) {
  return std::ranges::all_of(a.op->dims, [&](const Dim& dim) {
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

// "sm_90a" -> 90; 0 if it is not a CUDA architecture.
std::int64_t architecture_number(const std::string& arch) {
  std::int64_t number = 0;
  if (arch.starts_with("sm_")) std::from_chars(arch.data() + 3, arch.data() + arch.size(), number);
  return number;
}

}  // namespace

// A difference of one generation weighs like a factor of 256 in everything else; a difference
// within one generation like 2^4.
double gpu_distance(const GpuRecord& a, const GpuRecord& b) {
  const std::int64_t arch_a = architecture_number(a.arch), arch_b = architecture_number(b.arch);
  const auto generation = static_cast<double>(std::abs(arch_a / 10 - arch_b / 10));
  return 8 * generation + (arch_a != arch_b ? 4 : 0) +
         std::abs(log_extent(a.sm_count) - log_extent(b.sm_count)) +
         std::abs(log_extent(a.max_shared_bytes) - log_extent(b.max_shared_bytes)) +
         std::abs(log_extent(a.l2_bytes) - log_extent(b.l2_bytes));
}

std::string_view to_string(SelectionStep step) {
  static constexpr std::array<std::string_view, 5> kTexts = {
      // in the order of SelectionStep
      "exact problem", "least regret", "nearest problem", "nearest GPU", "default ladder"};
  return kTexts[static_cast<std::size_t>(step)];
}

double log_extent(std::int64_t dim) {
  return std::log2(static_cast<double>(std::max<std::int64_t>(dim, 1)));
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

DeviceInfo device_of(const GpuRecord& gpu) {
  DeviceInfo device;
  device.kind = gpu.emulation ? DeviceKind::cpu : DeviceKind::cuda;
  device.name = gpu.model;
  device.arch = gpu.arch;
  const std::int64_t capability =
      gpu.emulation ? kCpuComputeCapability : architecture_number(gpu.arch);
  device.limits = {capability, gpu.sm_count, gpu.max_shared_bytes, gpu.l2_bytes};
  device.memory_bytes = gpu.memory_bytes;
  device.mig_profile = gpu.mig_profile;
  return device;
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
    const bool same_gpu = is_same_gpu(entry.gpu, here);
    // Adds one to the distance, so that a GPU that differs only in memory size comes after this
    // one.
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
  std::ranges::stable_sort(tuned_distances, {}, &TunedDistance::distance);
  return tuned_distances;
}

std::vector<SelectedVariant> select_variants(const Problem& problem, const DeviceInfo& device,
                                             const Evidence& evidence) {
  return Selector(problem, device, evidence).rank(problem);
}

}  // namespace mgtune

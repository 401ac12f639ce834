#include "selection/picks.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace mgtune {
namespace {

Slots fixed_slots(const Operator& op, const Slots& slots) {
  Slots fixed;
  for (const DTypeVariable& dtype : op.dtypes) fixed.push_back(slots[std::size_t(dtype.slot)]);
  for (const Flag& flag : op.flags) fixed.push_back(slots[std::size_t(flag.slot)]);
  for (const Dim& dim : op.dims) {
    if (dim.kind == DimKind::fixed) fixed.push_back(slots[std::size_t(dim.slot)]);
  }
  return fixed;
}

}  // namespace

void Picks::add(std::vector<TunedEntry> more) {
  for (const TunedEntry& entry : more) {
    const std::size_t gpu = find_same_gpu(gpus_, entry.gpu);
    if (gpu == gpus_.size()) gpus_.push_back(entry.gpu);
    const std::size_t place = entries_.size() + static_cast<std::size_t>(&entry - more.data());
    places_[{gpu, fixed_slots(*entry.problem.op, entry.problem.slots)}].push_back(place);
  }
  std::ranges::move(more, std::back_inserter(entries_));
}

std::vector<const TunedEntry*> Picks::usable(const Binding& binding, const GpuRecord& gpu) const {
  const Operator& op = *binding.op;
  std::vector<const TunedEntry*> picks;
  Kind kind{0, fixed_slots(op, binding.slots)};
  for (kind.gpu = 0; kind.gpu < gpus_.size(); ++kind.gpu) {
    const GpuRecord& of = gpus_[kind.gpu];
    if (of.emulation != gpu.emulation || !is_same_gpu(of, gpu)) continue;
    const auto found = places_.find(kind);
    if (found == places_.end()) continue;
    for (const std::size_t place : found->second) picks.push_back(&entries_[place]);
  }
  // clang-tidy 14 cannot read std::ranges::stable_partition of GCC's library.
  std::stable_partition(picks.begin(), picks.end(), [&](const TunedEntry* entry) {
    return same_presence(op, binding.slots, entry->problem.slots);
  });
  return picks;
}

bool same_dtypes_and_flags(const Operator& op, const Slots& a, const Slots& b) {
  const auto same = [&](const auto& name) {
    return a[std::size_t(name.slot)] == b[std::size_t(name.slot)];
  };
  return std::ranges::all_of(op.dtypes, same) && std::ranges::all_of(op.flags, same);
}

bool same_presence(const Operator& op, const Slots& a, const Slots& b) {
  return std::ranges::all_of(op.tensors, [&](const Tensor& tensor) {
    return tensor.has_slot < 0 ||
           a[std::size_t(tensor.has_slot)] == b[std::size_t(tensor.has_slot)];
  });
}

}  // namespace mgtune

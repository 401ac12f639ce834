// The part of LaunchProgram that computes with ranges of dims.

#include <algorithm>
#include <limits>

#include "launch/launch_program.h"

namespace mgtune {
namespace {

// size_workspace() refuses larger buffers.
constexpr std::int64_t kMaxBufferBytes = std::numeric_limits<std::int64_t>::max() / 32;

// The most bytes of one buffer with these extents. Sizes that size_workspace() refuses do not
// count. -1 if it refuses all of them.
std::int64_t largest_buffer(std::int64_t element_bytes, const std::vector<LaunchValue>& shape,
                            std::span<const Interval> slots) {
  std::int64_t low = element_bytes, high = element_bytes;
  for (const LaunchValue& value : shape) {
    const Interval extent = intersection(value.bounds(slots), Interval::not_negative());
    if (extent.is_empty() || __builtin_mul_overflow(low, extent.low, &low) ||
        low > kMaxBufferBytes) {
      return -1;
    }
    if (__builtin_mul_overflow(high, extent.high, &high)) high = kMaxBufferBytes;
    high = std::min(high, kMaxBufferBytes);
  }
  return (high + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

}  // namespace

bool LaunchProgram::bound_slots(std::span<const Interval> dims,
                                std::vector<Interval>& slots) const {
  const auto may_hold = [&](const Expression* constraint) {
    return constraint->bounds(slots).contains(1);
  };
  slots.clear();
  for (const std::int64_t value : loaded_) slots.push_back(Interval::only(value));
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i].is_empty()) slots[std::size_t(dims_[i].slot)] = dims[i];
  }
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i].is_empty()) continue;
    Interval& value = slots[std::size_t(dims_[i].slot)];
    value = intersection(dims_[i].fallback->bounds(slots), Interval::not_negative());
    if (value.is_empty()) return false;
  }
  if (!std::ranges::all_of(op_constraints_, may_hold)) return false;
  for (const Let* let : lets_) {
    Interval& value = slots[std::size_t(let->slot)];
    value = let->value.bounds(slots);
    if (value.is_empty()) return false;
  }
  return std::ranges::all_of(constraints_, may_hold);
}

std::optional<LoadedVariant::WorkspaceSize> LaunchProgram::bound_workspace(
    std::span<const Interval> dims) const {
  std::vector<Interval> slots;
  if (!bound_slots(dims, slots)) return std::nullopt;
  LoadedVariant::WorkspaceSize size;
  for (const BufferRule& rule : buffers_) {
    const Interval present = rule.present.bounds(slots);
    if (present.is_empty()) return std::nullopt;
    if (present == Interval::only(0)) continue;
    const std::int64_t bytes = largest_buffer(rule.element_bytes, rule.shape, slots);
    if (bytes < 0) {
      if (!present.contains(0)) return std::nullopt;
      continue;
    }
    size.bytes += bytes;
    if (rule.zero == Zero::once) size.zeroed_bytes += bytes;
  }
  return size;
}

std::vector<bool> LaunchProgram::dims_that_size_workspace() const {
  std::vector<bool> used(loaded_.size());
  const auto use = [&used](std::span<const int> slots) {
    for (const int slot : slots) used[std::size_t(slot)] = true;
  };
  for (const BufferRule& rule : buffers_) {
    use(rule.present.slots());
    for (const LaunchValue& extent : rule.shape) use(extent.slots());
  }
  mark_what_lets_read(used);
  for (std::size_t i = dims_.size(); i-- > 0;) {
    if (used[std::size_t(dims_[i].slot)] && dims_[i].fallback) use(dims_[i].fallback->slots());
  }
  std::vector<bool> result;
  for (std::size_t i = 0; i < dims_.size(); ++i) result.push_back(used[std::size_t(dims_[i].slot)]);
  return result;
}

}  // namespace mgtune

#include "dispatch/remembered_variants.h"

#include "launch/launch_dims.h"

namespace mgtune {

std::uint64_t RememberedVariants::key(std::span<const std::int64_t> dims,
                                      std::span<void* const> tensors) {
  constexpr std::uint64_t kAlignment = 256;
  std::uint64_t addresses = kAlignment;
  for (void* const tensor : tensors) addresses |= reinterpret_cast<std::uintptr_t>(tensor);
  const std::uint64_t alignment = addresses & (~addresses + 1);  // the lowest bit that is set
  return hash_of(dims) ^ alignment * 0x9e3779b97f4a7c15U;
}

std::optional<std::size_t> RememberedVariants::find(std::uint64_t key) const {
  const std::uint64_t place = places_[key >> 58U].load(std::memory_order_relaxed);
  const std::uint64_t variant = place & kVariantMask;
  if (variant == 0 || ((place ^ key) & ~kVariantMask) != 0) return std::nullopt;
  return static_cast<std::size_t>(variant - 1);
}

void RememberedVariants::remember(std::uint64_t key, std::size_t variant) {
  places_[key >> 58U].store((key & ~kVariantMask) | (variant + 1), std::memory_order_relaxed);
}

}  // namespace mgtune

#include "dispatch/remembered_variants.h"

namespace mgtune {
namespace {

// One round of MurmurHash3's finalizer (https://github.com/aappleby/smhasher) for each value.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0xff51afd7ed558ccdU;
  return hash ^ (hash >> 33U);
}

}  // namespace

std::uint64_t RememberedVariants::key(std::span<const std::int64_t> dims,
                                      std::span<void* const> tensors) {
  constexpr std::uint64_t kAlignment = 256;
  std::uint64_t addresses = kAlignment;
  for (void* const tensor : tensors) addresses |= reinterpret_cast<std::uintptr_t>(tensor);
  const std::uint64_t alignment = addresses & (~addresses + 1);  // the lowest bit that is set
  std::uint64_t hash = mixed(1, alignment);
  for (const std::int64_t dim : dims) hash = mixed(hash, static_cast<std::uint64_t>(dim));
  return hash * 0xc4ceb9fe1a85ec53U;
}

std::optional<std::size_t> RememberedVariants::find(std::uint64_t key) const {
  const std::uint64_t place = places_[key >> 58U].load(std::memory_order_relaxed);
  const std::uint64_t variant = place & kVariantBits;
  if (variant == 0 || ((place ^ key) & ~kVariantBits) != 0) return std::nullopt;
  return static_cast<std::size_t>(variant - 1);
}

void RememberedVariants::remember(std::uint64_t key, std::size_t variant) {
  places_[key >> 58U].store((key & ~kVariantBits) | (variant + 1), std::memory_order_relaxed);
}

}  // namespace mgtune

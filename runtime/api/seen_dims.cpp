#include "api/seen_dims.h"

namespace mgtune {
namespace {

// The finalizer of SplitMix64 over the dims: every bit of a dim decides about every bit.
std::uint64_t hash_of(std::span<const std::int64_t> dims) {
  std::uint64_t hash = 0;
  for (const std::int64_t dim : dims) {
    hash += static_cast<std::uint64_t>(dim) + 0x9e3779b97f4a7c15U;
    hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9U;
    hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111ebU;
    hash ^= hash >> 31U;
  }
  return hash | 1U;
}

}  // namespace

bool SeenDims::insert(std::span<const std::int64_t> dims) {
  const std::uint64_t hash = hash_of(dims);
  for (std::size_t i = 0; i < kSlots; ++i) {
    std::atomic<std::uint64_t>& slot = hashes_[(hash / 2 + i) % kSlots];
    std::uint64_t there = slot.load(std::memory_order_relaxed);
    if (there == 0) {
      if (is_full()) return false;
      if (slot.compare_exchange_strong(there, hash, std::memory_order_relaxed)) {
        count_.fetch_add(1, std::memory_order_relaxed);
        return true;
      }
    }
    if (there == hash) return false;
  }
  return false;
}

}  // namespace mgtune

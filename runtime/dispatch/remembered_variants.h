// The variants that ran for recent shapes, so that a launch with a shape that was there before need
// not compare estimates again. Any thread may find and remember at any time. No lock, no
// allocation.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace mgtune {

class RememberedVariants {
 public:
  static constexpr std::size_t kMaxVariants = 15;

  // A hash of the dims and of the alignment that all pointers have, up to 256 bytes: a variant may
  // need aligned pointers. Two shapes with one key, which is one case in 2^60, share a variant: it
  // is still tested before it runs, but may not be the fastest one.
  static std::uint64_t key(std::span<const std::int64_t> dims, std::span<void* const> tensors);

  // The number of the variant that ran; nullopt: there was none, or another key took its place.
  std::optional<std::size_t> find(std::uint64_t key) const;

  // `variant` is less than kMaxVariants.
  void remember(std::uint64_t key, std::size_t variant);

 private:
  static constexpr std::size_t kPlaces = 64;
  static constexpr std::uint64_t kVariantMask = kMaxVariants;  // the rest of a place is of the key

  // 0 if nothing is remembered, otherwise the upper 60 bits of the key and the variant plus 1.
  std::array<std::atomic<std::uint64_t>, kPlaces> places_{};
};

}  // namespace mgtune

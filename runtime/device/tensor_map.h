// Tensor maps describe a tensor for the copy engine of GPUs from sm_90 on (cuTensorMapEncodeTiled).
// A kernel takes one as a `const __grid_constant__ CUtensorMap` of 128 bytes. Plain data.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/dtype.h"
#include "family/operator.h"

namespace mgtune {

inline constexpr std::size_t kMaxTensorMapRank = 5;

// The first `rank` elements of each array count, the fastest dimension first. `stride_bytes` leaves
// out the fastest dimension.
struct TensorMapRequest {
  void* memory = nullptr;  // aligned to 16 bytes
  DType dtype = DType::f32;
  std::uint32_t rank = 0;
  std::array<std::uint64_t, kMaxTensorMapRank> extent{};  // elements
  std::array<std::uint64_t, kMaxTensorMapRank - 1> stride_bytes{};
  std::array<std::uint32_t, kMaxTensorMapRank> box{};  // elements that one copy moves
  TensorMap::Swizzle swizzle = TensorMap::Swizzle::none;
  TensorMap::L2 l2 = TensorMap::L2::none;
};

// The result of the driver for a request. Opaque.
struct alignas(64) EncodedTensorMap {
  std::array<std::byte, 128> bytes;
};

}  // namespace mgtune

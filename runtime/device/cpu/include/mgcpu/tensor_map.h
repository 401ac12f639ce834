// TensorMap: what the cpu device puts into the 128 bytes of a tensor map. A GPU's bytes are opaque;
// these are plain. The device writes them, and kernels read them in <mg/tensor_copy.cuh>.

#pragma once

#include <cstdint>

namespace mgcpu {

struct TensorMap {
  const unsigned char* memory;
  std::uint64_t stride_bytes[4];  // of the dimensions 1, 2, ...
  std::uint64_t extent[5];        // elements, the fastest dimension first
  std::uint32_t box[5];           // likewise
  std::uint32_t rank, element_bytes;
  std::uint32_t swizzle_bytes;  // 0, 32, 64 or 128
};

static_assert(sizeof(TensorMap) <= 128, "the size of a tensor map");

}  // namespace mgcpu

// Rows of 16-byte pieces in shared memory, laid out so that eight consecutive rows hold a piece of
// the same number in eight different sets of banks: what ldmatrix reads at once, and what the
// threads of a warp write at once, meets no bank conflict.
//
//   mg::swizzled<kRowBytes>(row, piece)            byte at which a piece of a row begins
//   const mg::SwizzledLane<kRowBytes> lane(row, half);
//   lane.offset(rows, step)                        the same for piece 2 * step + half of row + rows
//
// Rows are kRowBytes long, a multiple of 64, one after the other; the first begins at a multiple of
// 1024 bytes. Piece p of row r lies where piece p ^ (r % 8) would without the swizzle, or, in rows
// of an odd number of 64 bytes, p ^ (r / 2 % 4).
// SwizzledLane computes what depends on the thread once: `half` is 0 or 1, `rows` a multiple of 8
// and, like `step`, a constant after unrolling.

#pragma once

#include <mg/types.cuh>

namespace mg {

template <int kRowBytes>
__device__ __forceinline__ u32 swizzle_key(u32 row) {
  static_assert(kRowBytes % 64 == 0, "whole halves of a line of banks");
  return kRowBytes % 128 == 0 ? row % 8u : row / 2u % 4u;
}

template <int kRowBytes>
__device__ __forceinline__ u32 swizzled(u32 row, u32 piece) {
  return row * kRowBytes + ((piece ^ swizzle_key<kRowBytes>(row)) * 16u);
}

template <int kRowBytes>
class SwizzledLane {
 public:
  __device__ __forceinline__ SwizzledLane(u32 row, u32 half) {
#pragma unroll
    for (u32 step = 0; step < kSteps; ++step) {
      offsets_[step] = swizzled<kRowBytes>(row, 2u * step + half);
    }
  }

  __device__ __forceinline__ u32 offset(int rows, int step) const {
    return offsets_[step % kSteps] +
           static_cast<u32>(rows * kRowBytes + step / kSteps * kSteps * 32);
  }

 private:
  static constexpr int kSteps = kRowBytes % 128 == 0 ? 4 : 2;  // after which the key repeats
  u32 offsets_[kSteps];
};

}  // namespace mg

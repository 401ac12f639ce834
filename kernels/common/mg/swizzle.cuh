// A layout of rows of 16-byte pieces in shared memory without bank conflicts. In eight consecutive
// rows, the pieces of the same number lie in eight different sets of banks. ldmatrix reads such
// pieces at once, and the threads of a warp write them at once.
//
//   mg::swizzled<kRowBytes>(row, piece)            the byte at which a piece of a row begins
//   const mg::SwizzledLane<kRowBytes> lane(row, half);
//   lane.offset(rows, step)                        the same for piece 2 * step + half of row + rows
//
// A row is kRowBytes long, a multiple of 64, and one row follows the other. The first row begins at
// a multiple of 1024 bytes. Piece p of row r lies where piece p ^ (r % 8) would lie without the
// swizzle. If a row has an odd number of 64-byte halves, it is p ^ (r / 2 % 4) instead.
// SwizzledLane computes once what depends on the thread. `half` is 0 or 1. `rows` is a multiple of
// 8. `rows` and `step` are constants after unrolling.

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
  static constexpr int kSteps = kRowBytes % 128 == 0 ? 4 : 2;  // steps until the key repeats
  u32 offsets_[kSteps];
};

}  // namespace mg

// Rearranges accumulators of mma.sync and wgmma, so that a lane holds 8 consecutive columns of a
// row, which it can load and store by accesses of 16 bytes.
//
//   float two[4][2];               columns 8 * j + 2 * q and the next of a row, j < 4; q = lane % 4
//   float eight[8];
//   mg::gather_columns(two, eight);            columns 8 * q to 8 * q + 7 of the same row
//
// Every lane of the warp calls it. The four lanes that hold a row of d (<mg/mma.cuh>) transpose
// their 4 x 4 pairs in two steps, in each of which a lane swaps half of its pairs with another
// lane.

#pragma once

#include <mg/types.cuh>

namespace mg {

// Swaps `high` of the lanes without the bit for `low` of the lanes with it.
template <int kBit>
__device__ __forceinline__ void swap_with_lane(float& low, float& high) {
  const bool has_bit = (threadIdx.x & kBit) != 0;
  const float received = __shfl_xor_sync(0xffffffffu, has_bit ? low : high, kBit);
  low = has_bit ? received : low;
  high = has_bit ? high : received;
}

__device__ __forceinline__ void gather_columns(const float (&two)[4][2], float (&eight)[8]) {
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    eight[2 * j] = two[j][0];
    eight[2 * j + 1] = two[j][1];
  }
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    swap_with_lane<1>(eight[c], eight[2 + c]);
    swap_with_lane<1>(eight[4 + c], eight[6 + c]);
    swap_with_lane<2>(eight[c], eight[4 + c]);
    swap_with_lane<2>(eight[2 + c], eight[6 + c]);
  }
}

}  // namespace mg

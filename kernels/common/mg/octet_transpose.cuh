// Exchanges values among the eight lanes of a warp that have the same remainder by 4, as an 8 x 8
// matrix is transposed. The accumulators of <mg/mma.cuh> and <mg/wgmma.cuh> lie in such lanes: lane
// l has row l / 4. After the exchange a lane has the values of eight neighbouring rows.
//
//   float values[8];                  value i of this lane
//   mg::transpose_in_octet(values);   lane l has value l / 4 of lanes l % 4, l % 4 + 4, ..., in
//                                     their order
//
// All lanes of the warp call it. It takes 12 shuffles.

#pragma once

#include <mg/types.cuh>

namespace mg {

__device__ __forceinline__ void transpose_in_octet(float (&values)[8]) {
#pragma unroll
  for (int bit = 1; bit < 8; bit *= 2) {
    const bool is_high = (static_cast<int>(threadIdx.x) / 4 & bit) != 0;
#pragma unroll
    for (int low = 0; low < 8; ++low) {
      if ((low & bit) != 0) continue;
      const int high = low + bit;
      const float sent = is_high ? values[low] : values[high];
      const float got = __shfl_xor_sync(0xffffffffu, sent, 4 * bit);
      values[low] = is_high ? got : values[low];
      values[high] = is_high ? values[high] : got;
    }
  }
}

}  // namespace mg

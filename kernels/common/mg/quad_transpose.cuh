// Exchanges words among the four lanes of a quad (lanes 4 * i to 4 * i + 3 of a warp), as a 4 x 4
// matrix is transposed. The accumulators of <mg/mma.cuh> and <mg/wgmma.cuh> lie in pairs of
// columns; after the exchange a lane has eight neighbouring 16-bit columns, which it can store as
// 16 bytes.
//
//   mg::u32 words[4];                word i: this lane's pair of columns of block i
//   mg::transpose_in_quad(words);    lane i of the quad has word i of each lane, in their order
//
// All lanes of the warp call it. It takes four shuffles.

#pragma once

#include <mg/types.cuh>

namespace mg {

__device__ __forceinline__ void transpose_in_quad(u32 (&words)[4]) {
  const bool is_high = threadIdx.x % 4u >= 2u, is_odd = threadIdx.x % 2u == 1u;
  const auto of_other = [](u32 word, int distance) {
    return __shfl_xor_sync(0xffffffffu, word, distance);
  };
  const u32 even_far = of_other(is_high ? words[0] : words[2], 2);
  const u32 odd_far = of_other(is_high ? words[1] : words[3], 2);
  const u32 even = is_high ? words[2] : words[0], odd = is_high ? words[3] : words[1];
  const u32 own = is_odd ? odd : even, own_far = is_odd ? odd_far : even_far;
  const u32 near = of_other(is_odd ? even : odd, 1);
  const u32 near_far = of_other(is_odd ? even_far : odd_far, 1);
  const u32 here[2] = {is_odd ? near : own, is_odd ? own : near};
  const u32 there[2] = {is_odd ? near_far : own_far, is_odd ? own_far : near_far};
  words[0] = is_high ? there[0] : here[0];
  words[1] = is_high ? there[1] : here[1];
  words[2] = is_high ? here[0] : there[0];
  words[3] = is_high ? here[1] : there[1];
}

}  // namespace mg

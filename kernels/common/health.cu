// Shows that a GPU computes: every element becomes a number that depends only on its index and the
// seed.
//
//   out[i] = (i * 2654435761) xor seed   (mod 2^32)
//
// Algorithm  One thread computes one element.
// Traffic    It writes 4 * count bytes.
// Tunables   None.
// Numerics   Integers, exact.

#include <mg/types.cuh>

__global__ void health(mg::u32* out, mg::u32 seed, mg::u32 count) {
  const mg::u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = (i * 2654435761u) ^ seed;
}

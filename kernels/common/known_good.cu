// Shows that a compiler and its headers work: a source that compiles on every architecture. A sweep
// compiles it after another source did not compile, before it blames that source.
//
//   y[i] = bfloat16(x[i])
//
// Algorithm  One thread computes one element.
// Traffic    It reads 2 * count bytes and writes 2 * count bytes.
// Tunables   None.
// Numerics   Rounds once.

#include <mg/convert.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

__global__ void known_good(const __half* x, __nv_bfloat16* y, mg::u32 count) {
  const mg::u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = mg::from_float<__nv_bfloat16>(mg::to_float(x[i]));
}

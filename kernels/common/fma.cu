// Multiplies and adds in fp32 as fast as possible. Its rate is the ceiling of arithmetic without
// tensor cores.
//
//   out[t] = sum over the points (x, y) of thread t, each turned `steps` * 8 times:
//   x -= c * y,  y += c * x
//
// Algorithm  Every thread turns PAIRS points on their ellipses. A turn is two dependent
//            multiply-adds. The points keep moving and never grow, so the operands stay as random
//            as they began. c = in[t], x of point i = in[2 * (t * PAIRS + i)], and y is the word
//            after it; indices wrap around at the end of `in`.
// Traffic    A thread writes 4 bytes. It reads `values` words from the caches, again and again.
// Work       steps * 8 * PAIRS * 4 flops per thread.
// Tunables   PAIRS      The independent chains of a thread. More hide latency but cost registers.
// Numerics   fp32. Each multiply-add is rounded once, so every device gives the same bits.

#include <mg/types.cuh>

template <int PAIRS>
__global__ void fma_peak(float* out, const float* in, int values, int steps) {
  const mg::i64 thread = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x;
  const float c = in[thread % values];
  float x[PAIRS], y[PAIRS];
#pragma unroll
  for (int i = 0; i < PAIRS; ++i) {
    x[i] = in[2 * (thread * PAIRS + i) % values];
    y[i] = in[(2 * (thread * PAIRS + i) + 1) % values];
  }
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int turn = 0; turn < 8; ++turn) {
#pragma unroll
      for (int i = 0; i < PAIRS; ++i) x[i] = fmaf(-c, y[i], x[i]);
#pragma unroll
      for (int i = 0; i < PAIRS; ++i) y[i] = fmaf(c, x[i], y[i]);
    }
  }
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < PAIRS; ++i) sum += x[i] + y[i];
  out[thread] = sum;
}

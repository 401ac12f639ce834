// Multiplies and adds in fp32 as fast as it can: the ceiling of arithmetic without tensor cores.
//
//   out[t] = sum over the points (x, y) of thread t, each turned `steps` * 8 times:
//   x -= c * y,  y += c * x
//
// Algorithm  every thread turns PAIRS points on their ellipses, two dependent multiply-adds a turn.
//            The points keep moving and never grow, so the operands stay as random as they began.
//            c, then each x and y, are thread t's words of `in`, taken round and round:
//            c = in[t], x of point i = in[2 * (t * PAIRS + i)], y the word after it.
// Traffic    4 bytes a thread written; `values` words read, again and again, out of the caches.
// Work       steps * 8 * PAIRS * 4 flops a thread.
// Tunables   PAIRS      independent chains a thread     trade: latency hiding vs registers
// Numerics   fp32, each multiply-add rounded once: the same bits on every device.

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

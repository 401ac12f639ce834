// costly.spread — y[i] = sum over k of (v[k] - m)^2, v[k] = x[(i + 37 k) mod n], m their mean,
// 160 values each
//
// Algorithm  one thread per element; the result goes to memory by way of shared memory.
// Traffic    reads n elements of x (again and again, from the caches), writes n.
// Work       480 * n flops.
// Tunables   COST  none; spills: all 160 values at once, where 64 registers are to be had;
//                  conflicts: the lanes of a warp meet in one bank of shared memory
// Numerics   fp32 sums in one order: every COST gives the same bits.

#include <mg/shared.cuh>
#include <mg/types.cuh>

enum class COST { none, spills, conflicts };

constexpr int kValues = 160;

__device__ inline float value_of(const float* x, mg::i64 i, int k, mg::i64 n) {
  return x[(i + 37 * k) % n];
}

// Each value is fetched twice.
__device__ inline float spread_by_fetching(const float* x, mg::i64 i, mg::i64 n) {
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < kValues; ++k) sum += value_of(x, i, k, n);
  const float mean = sum / kValues;
  float spread = 0;
#pragma unroll 1
  for (int k = 0; k < kValues; ++k) {
    const float off = value_of(x, i, k, n) - mean;
    spread += off * off;
  }
  return spread;
}

// Each value is fetched once and kept.
__device__ inline float spread_by_keeping(const float* x, mg::i64 i, mg::i64 n) {
  float values[kValues];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kValues; ++k) {
    values[k] = value_of(x, i, k, n);
    sum += values[k];
  }
  const float mean = sum / kValues;
  float spread = 0;
#pragma unroll
  for (int k = 0; k < kValues; ++k) {
    const float off = values[k] - mean;
    spread += off * off;
  }
  return spread;
}

template <COST kCost>
__global__ void __launch_bounds__(1024) spread(const float* x, float* y, mg::i64 n) {
  MG_SHARED(float, handed, [32 * 32]);
  const mg::i64 first = mg::i64{blockIdx.x} * 256;
  const int thread = static_cast<int>(threadIdx.x);
  const auto place = [](int of) {
    const int lane = of % 32;
    const int warp = of / 32;
    return kCost == COST::conflicts ? lane * 32 + warp : warp * 32 + lane;
  };
  handed[place(thread)] = kCost == COST::spills ? spread_by_keeping(x, first + thread, n)
                                                : spread_by_fetching(x, first + thread, n);
  __syncthreads();
  // A neighbour's, so that it does come by way of shared memory.
  const int neighbour = thread ^ 1;
  y[first + neighbour] = handed[place(neighbour)];
}

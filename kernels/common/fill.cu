// Fill kernels of the check — element i of a tensor is a function of (seed, i) alone.
//
//   fill_normal   mean 0, deviation 1        fill_uniform   in [low, high)
//
// Algorithm  <mg/random.cuh>, element by element. Any launch geometry gives the same tensor;
//            threads stride over the grid.
// Traffic    writes count elements of T.
// Numerics   fp32, rounded to T once. Integer steps are exact; logf, cosf and sqrtf may differ
//            between CPU and GPU in their last bits, so a tensor filled on one may differ from the
//            other's by a rounding. A check reads the tensor that lies in memory: it never sees
//            this. Normal values stay within +-6.8; fill_uniform is in [low, high) before its last
//            rounding, to T.

#include <mg/random.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

template <typename T>
__global__ void fill_normal(T* out, long long count, unsigned long long seed) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) {
    out[i] = mg::from_float<T>(mg::normal_of(mg::random_bits(seed, i)));
  }
}

template <typename T>
__global__ void fill_uniform(T* out, long long count, unsigned long long seed, float low,
                             float high) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) {
    // 24 bits: every value of [0, 1) on this grid is an fp32.
    const float unit =
        static_cast<float>(static_cast<mg::u32>(mg::random_bits(seed, i) >> 40)) * 0x1p-24f;
    const float value = low + (high - low) * unit;
    out[i] = mg::from_float<T>(value < high ? value : low);
  }
}

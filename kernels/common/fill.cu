// The kernels that fill tensors for the check. Element i of a tensor depends on (seed, i) alone.
//
//   fill_normal   mean 0, deviation 1        fill_uniform   in [low, high)
//
// Algorithm  Each element is computed by <mg/random.cuh>. Threads stride over the grid, so any
//            launch geometry gives the same tensor.
// Traffic    It writes count elements of T.
// Numerics   fp32, rounded to T once. Integer steps are exact. logf, cosf and sqrtf may differ
//            between CPU and GPU in their last bits, so a tensor that is filled on one may differ
//            from the other's by a rounding. A check never sees this, because it reads the tensor
//            from memory. Normal values stay within +-6.8. fill_uniform is in [low, high) before
//            its last rounding, to T.

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
    // With 24 bits, every value of this grid in [0, 1) is an fp32.
    const float unit =
        static_cast<float>(static_cast<mg::u32>(mg::random_bits(seed, i) >> 40)) * 0x1p-24f;
    const float value = low + (high - low) * unit;
    out[i] = mg::from_float<T>(value < high ? value : low);
  }
}

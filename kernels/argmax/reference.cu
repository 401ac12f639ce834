// The reference of argmax.forward, and the kernel that fills positions and lengths.
//
// Algorithm  One thread per row walks over its columns.
// Traffic    reads each element once.
// Numerics   exact; f16 and bf16 are compared as floats.

#include <mg/random.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

template <typename T, class Problem>
__global__ void argmax_forward_reference(const T* x, double* index, double* positions,
                                         double* lengths, Problem problem) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 row = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; row < problem.rows;
       row += threads) {
    const T* const from = x + row * problem.x_stride;
    mg::i64 best = -1;
    for (mg::i64 c = 0; c < problem.columns; ++c) {
      const float value = mg::to_float(from[c]);
      if (value != value) continue;
      if (best < 0 || value > mg::to_float(from[best])) best = c;
    }
    index[row] = best < 0 ? 0.0 : static_cast<double>(best);
    if (positions != nullptr) positions[row] += 1.0;
    if (lengths != nullptr) lengths[row] += 1.0;
  }
}

template <typename T, class Problem>
__global__ void fill_positions(T* out, unsigned long long seed, Problem problem) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i < problem.rows; i += threads) {
    out[i] = static_cast<T>(mg::random_bits(seed, i) % 4096);
  }
}

// There are few different values, so that the largest one occurs several times in a row.
template <typename T, class Problem>
__global__ void fill_logits(T* out, unsigned long long seed, Problem problem) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x;
       i < problem.rows * problem.columns; i += threads) {
    const int value = static_cast<int>(mg::random_bits(seed, i) % 61);
    out[i] = mg::from_float<T>(static_cast<float>(value - 60) * 0.5f);
  }
}

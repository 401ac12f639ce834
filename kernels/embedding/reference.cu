// The reference of embedding.forward, and the kernels that fill tokens and positions.
//
// Algorithm  One thread per element.
// Traffic    reads and writes each element once.
// Numerics   The sum is fp64, of the exact values in memory.

#include <mg/random.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

template <typename T, typename Y, class Problem>
__global__ void embedding_forward_reference(const int* tokens, const T* weight,
                                            const int* positions, const T* table, double* y,
                                            Problem problem) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x;
       i < problem.rows * problem.columns; i += threads) {
    const mg::i64 row = i / problem.columns, column = i % problem.columns;
    y[i] = mg::to_float(weight[tokens[row] * problem.columns + column]);
    if (table == nullptr) continue;
    y[i] += mg::to_float(table[positions[row] * problem.columns + column]);
  }
}

template <typename T, class Problem>
__global__ void fill_tokens(T* out, unsigned long long seed, Problem problem) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i < problem.rows; i += threads) {
    out[i] = static_cast<T>(mg::random_bits(seed, i) % problem.vocabulary);
  }
}

template <typename T, class Problem>
__global__ void fill_positions(T* out, unsigned long long seed, Problem problem) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i < problem.rows; i += threads) {
    out[i] = static_cast<T>(mg::random_bits(seed, i) % problem.capacity);
  }
}

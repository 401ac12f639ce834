// embedding.forward: the rows of a table of embeddings for the tokens, with learned positions.
//
//   y[r, c] = weight[tokens[r], c] + table[positions[r], c]        the sum only if there is a table
//
// A token or a position that has no row gives NaN, so that the mistake cannot pass unseen.
//
// The plain version:
//
//   __global__ void embed(const int* tokens, const T* weight, T* y, int columns) {
//     int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
//     if (c < columns) y[r * columns + c] = weight[tokens[r] * columns + c];
//   }
//
// Algorithm  The plain version with VEC elements per thread. The token is in device memory, where
//            the previous kernel may have written it.
// Traffic    reads rows * columns elements of T (twice as many with a table), and writes as many of
//            Y. For a single token of a model that is a few KiB: the time is that of two loads, one
//            after the other.
// Work       none, or an addition per element
// Tunables   THREADS    More threads make fewer blocks.
//            VEC        The elements of a thread, in accesses of at most 16 bytes.
//            PDL        The grid starts while the previous grid ends.
// Numerics   The sum is fp32 and rounded once. Without a table the values are exact, if Y holds
//            them.

#include <mg/convert.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/math.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

// Stores kVec floats in pieces of at most 16 bytes.
template <int kVec, class Y>
__device__ __forceinline__ void store_all(Y* to, const float (&values)[kVec]) {
  constexpr int kPiece = mg::Pieces<Y, kVec>::kPiece;
#pragma unroll
  for (int first = 0; first < kVec; first += kPiece) {
    float piece[kPiece];
#pragma unroll
    for (int i = 0; i < kPiece; ++i) piece[i] = values[first + i];
    mg::store<kPiece>(to + first, mg::from_floats<Y>(piece));
  }
}

template <class T, class Y, int kThreads, int kVec, bool kPdl, bool kHasTable>
__global__ void __launch_bounds__(kThreads)
    embedding_forward(const int* tokens, const T* weight, const int* positions, const T* table,
                      Y* y, int columns, int vocabulary, int capacity, mg::i64 y_stride) {
  if constexpr (kPdl) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  const int column =
      (static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x)) * kVec;
  if (column >= columns) return;
  const mg::i64 row = blockIdx.y;
  const int token = tokens[row];
  bool is_there = token >= 0 && token < vocabulary;
  float values[kVec];
  if (is_there) mg::to_floats(mg::load<kVec>(weight + mg::i64{token} * columns + column), values);
  if constexpr (kHasTable) {
    const int position = positions[row];
    is_there = is_there && position >= 0 && position < capacity;
    if (is_there) {
      float more[kVec];
      mg::to_floats(mg::load<kVec>(table + mg::i64{position} * columns + column), more);
#pragma unroll
      for (int i = 0; i < kVec; ++i) values[i] += more[i];
    }
  }
  if (!is_there) {
#pragma unroll
    for (int i = 0; i < kVec; ++i) values[i] = mg::infinity() - mg::infinity();
  }
  store_all<kVec>(y + row * y_stride + column, values);
}

// argmax.forward: the index of the largest element of each row. Of several equal elements the first
// one counts. With this operator a model can choose its next token on the device.
//
//   index[r] = the smallest c with x[r, c] >= x[r, d] for all d
//   positions[r] += 1, lengths[r] += 1         if these tensors are given, for the next token
//
// NaN counts as smaller than every number, so it is never chosen. If a row has nothing but NaN,
// index is 0.
//
// The plain version:
//
//   __global__ void argmax(const T* x, int* index, int columns) {     one thread per row
//     int best = 0;
//     for (int c = 1; c < columns; ++c) if (x[c] > x[best]) best = c;
//     *index = best;
//   }
//
// Algorithm  A key of 64 bits holds the value in its upper half and the complement of the column in
//            its lower half. So the largest key is the answer, in whatever order the keys are
//            compared. BLOCKS blocks share a row. The last one to finish compares their keys.
// Traffic    reads rows * columns elements of T. For one row of 128,256 floats these are 513 KB, or
//            0.12 us at 4.3 TB/s. So the time is that of a launch and of a few loads one after the
//            other.
// Work       a comparison per element
// Tunables   BLOCKS     More blocks read a row in less time. The last block waits for more of them.
//            THREADS    The threads of a block.
//            VEC        The elements of a load.
//            UNROLL     The loads that a thread has in flight.
//            PDL        The grid starts while the previous grid ends.
// Numerics   exact

#include <mg/column_key.cuh>
#include <mg/convert.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/largest.cuh>
#include <mg/last_block.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

// Returns the largest key of the block, in all threads.
template <int kThreads>
__device__ __forceinline__ mg::u64 largest_of_block(mg::u64 key) {
  MG_SHARED(mg::u64, keys, [kThreads / 32]);
  key = mg::largest_of_block<kThreads>(key, keys);
  __syncthreads();
  return key;
}

template <class T, int kThreads, int kVec, int kUnroll, bool kPdl>
__global__ void __launch_bounds__(kThreads)
    argmax_forward(const T* x, int* index, int* positions, int* lengths, mg::u64* keys,
                   mg::u32* counters, int columns, mg::i64 x_stride) {
  if constexpr (kPdl) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  const mg::i64 row = blockIdx.y;
  const T* const from = x + row * x_stride;
  const int blocks = static_cast<int>(gridDim.x), step = blocks * kThreads * kVec;
  mg::u64 best = 0;
  for (int first = (static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x)) * kVec;
       first < columns; first += step * kUnroll) {
    mg::Vec<T, kVec> held[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (first + u * step < columns) held[u] = mg::load<kVec>(from + first + u * step);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (first + u * step >= columns) break;
      float values[kVec];
      mg::to_floats(held[u], values);
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        const mg::u32 column = static_cast<mg::u32>(first + u * step + i);
        best = mg::larger(best, mg::u64{mg::ordered(values[i])} << 32 | (~column));
      }
    }
  }
  best = largest_of_block<kThreads>(best);
  if (blocks > 1) {
    if (threadIdx.x == 0) keys[row * blocks + blockIdx.x] = best;
    if (!mg::is_last_block(counters + row, blocks)) return;
    best = 0;
    for (int i = static_cast<int>(threadIdx.x); i < blocks; i += kThreads) {
      best = mg::larger(best, __ldcg(keys + row * blocks + i));
    }
    best = largest_of_block<kThreads>(best);
  }
  if (threadIdx.x != 0) return;
  index[row] = mg::column_of(best);
  if (positions != nullptr) ++positions[row];
  if (lengths != nullptr) ++lengths[row];
}

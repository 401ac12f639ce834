// c[i, j] = the sum of a[i, p] * b[p, j] over p, for matrices in row-major order
//
// Algorithm  A block computes a tile of TILE x TILE elements of c. It goes along k in steps of
// STEP:
//            it copies a tile of a and a tile of b to shared memory, then each thread multiplies
//            and adds up. A thread computes PER_THREAD elements of one column of the tile.
// Traffic    Each element of a is read n / TILE times, each element of b m / TILE times.
// Work       2 * m * n * k flops.
// Tunables   TILE        a larger tile reads less memory, but there are fewer blocks
//            STEP        a longer step needs fewer barriers, but more shared memory
//            PER_THREAD  more elements per thread reuse a value of b more often, but there are
//                        fewer threads
// Numerics   Sums are formed in float and rounded once.
//
// The kernel uses no tensor cores. kernels/common/mg/mma.cuh of mgtune has functions for them.

#include <mg/shared.cuh>  // MG_SHARED: shared memory that the checks of the cpu device see
#include <mg/types.cuh>   // integers of fixed width, such as mg::i64
#include <mg/vec.cuh>     // mg::to_float, mg::from_float

// The key "kernel" of matmul.json names the template arguments: matmul<T, TILE, STEP, PER_THREAD>.
// mgtune compiles this file once for each variant, for example with matmul<float, 32, 16, 4>.
template <class T, int kTile, int kStep, int kPerThread>
__global__ void __launch_bounds__(kTile* kTile / kPerThread)
    // The parameters come in the order of the key "args".
    matmul(const T* a, const T* b, T* c, mg::i64 m, mg::i64 n, mg::i64 k) {
  // "block": ["TILE", "TILE / PER_THREAD"]
  constexpr int kRows = kTile / kPerThread;  // rows of threads
  constexpr int kThreads = kTile * kRows;
  // One column more than needed, so that a column does not lie in one bank of shared memory.
  MG_SHARED(float, tile_a, [kTile][kStep + 1]);
  MG_SHARED(float, tile_b, [kStep][kTile + 1]);
  // The first row and the first column of the block's tile of c.
  const mg::i64 top = mg::i64{blockIdx.y} * kTile, left = mg::i64{blockIdx.x} * kTile;
  const int thread = static_cast<int>(threadIdx.y * kTile + threadIdx.x);
  const int column = static_cast<int>(threadIdx.x), first_row = static_cast<int>(threadIdx.y);

  float sums[kPerThread] = {};
  for (mg::i64 start = 0; start < k; start += kStep) {
    // All threads copy together. What lies outside of a matrix counts as zero.
    for (int i = thread; i < kTile * kStep; i += kThreads) {
      const mg::i64 row = top + i / kStep, p = start + i % kStep;
      tile_a[i / kStep][i % kStep] = row < m && p < k ? mg::to_float(a[row * k + p]) : 0.0f;
    }
    for (int i = thread; i < kStep * kTile; i += kThreads) {
      const mg::i64 p = start + i / kTile, col = left + i % kTile;
      tile_b[i / kTile][i % kTile] = p < k && col < n ? mg::to_float(b[p * n + col]) : 0.0f;
    }
    // The tiles are complete only when every thread has copied its part.
    __syncthreads();
#pragma unroll
    for (int p = 0; p < kStep; ++p) {
      const float of_b = tile_b[p][column];
#pragma unroll
      for (int i = 0; i < kPerThread; ++i) sums[i] += tile_a[first_row + i * kRows][p] * of_b;
    }
    // No thread may overwrite the tiles before every thread has read them.
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    const mg::i64 row = top + first_row + i * kRows;
    // The tiles at the edges stand out of c.
    if (row < m && left + column < n) c[row * n + left + column] = mg::from_float<T>(sums[i]);
  }
}

// y[i, j] = center * x[i, j] + (1 - center) / 4 * (its four neighbours). Beyond the edges x is 0.
//
// Algorithm  A block computes a tile of ROWS * BLOCK_Y rows and BLOCK_X columns. With STAGE =
// shared
//            it first copies the tile and a border of one element to shared memory; with
//            STAGE = none each thread reads the neighbours from memory, that is from the caches.
// Traffic    Reads and writes height * width elements of T, and reads the borders again.
// Work       6 * height * width flops.
// Tunables   BLOCK_X, BLOCK_Y  columns and rows of threads
//            ROWS              rows that each thread computes. More rows share more neighbours.
//            STAGE             whether the tile is copied to shared memory first
// Numerics   The sum is formed in float and rounded once.

#include <mg/shared.cuh>  // MG_SHARED: shared memory that the checks of the cpu device see
#include <mg/types.cuh>   // integers of fixed width, such as mg::i64
#include <mg/vec.cuh>     // mg::to_float, mg::from_float

// The values of the parameter STAGE of blur.json. A parameter whose values are words is an enum
// class of the same name.
enum class STAGE { shared, none };

// An element of x as a float; 0 beyond the edges.
template <class T>
__device__ float at(const T* x, mg::i64 row, mg::i64 column, mg::i64 height, mg::i64 width) {
  if (row < 0 || row >= height || column < 0 || column >= width) return 0.0f;
  return mg::to_float(x[row * width + column]);
}

// The key "kernel" of blur.json names the template arguments. mgtune compiles this file once for
// each variant, for example with blur<float, 32, 8, 2, STAGE::none>.
template <class T, int kBlockX, int kBlockY, int kRows, STAGE kStage>
__global__ void __launch_bounds__(kBlockX* kBlockY)
    // The parameters come in the order of the key "args". `center` is a scalar of the operator.
    blur(const T* x, T* y, float center, mg::i64 height, mg::i64 width) {
  constexpr int kTileRows = kRows * kBlockY;
  const float side = (1.0f - center) / 4.0f;
  // The first row and the first column of the block's tile.
  const mg::i64 top = mg::i64{blockIdx.y} * kTileRows, left = mg::i64{blockIdx.x} * kBlockX;
  const int column = static_cast<int>(threadIdx.x);

  if constexpr (kStage == STAGE::shared) {
    // The tile with a border of one element on each side.
    MG_SHARED(float, tile, [kTileRows + 2][kBlockX + 2]);
    const int thread = static_cast<int>(threadIdx.y * kBlockX + threadIdx.x);
    for (int i = thread; i < (kTileRows + 2) * (kBlockX + 2); i += kBlockX * kBlockY) {
      const int row = i / (kBlockX + 2), col = i % (kBlockX + 2);
      tile[row][col] = at(x, top + row - 1, left + col - 1, height, width);
    }
    // The tile is complete only when every thread has copied its part.
    __syncthreads();
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int row = static_cast<int>(threadIdx.y) + r * kBlockY;
      // The tiles at the edges stand out of y.
      if (top + row >= height || left + column >= width) continue;
      const float around = tile[row][column + 1] + tile[row + 2][column + 1] +
                           tile[row + 1][column] + tile[row + 1][column + 2];
      const float value = center * tile[row + 1][column + 1] + side * around;
      y[(top + row) * width + left + column] = mg::from_float<T>(value);
    }
  } else {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const mg::i64 row = top + threadIdx.y + r * kBlockY, col = left + column;
      if (row >= height || col >= width) continue;
      const float around = at(x, row - 1, col, height, width) + at(x, row + 1, col, height, width) +
                           at(x, row, col - 1, height, width) + at(x, row, col + 1, height, width);
      const float value = center * at(x, row, col, height, width) + side * around;
      y[row * width + col] = mg::from_float<T>(value);
    }
  }
}

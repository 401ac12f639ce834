// Products of matrices on the CUDA cores, for GPUs and types that the tensor cores do not serve.
//
//   mg::plain_gemm_tile(inputs, first_row, first_column, epilogue);     128 threads
//
// The block computes 64 rows and 64 columns of each product. It copies 16 columns of x and of the
// weights to shared memory as fp32, and each thread adds up 4 rows and 8 columns. Inputs and
// epilogue are those of <mg/gemm_inputs.cuh>.

#pragma once

#include <mg/convert.cuh>
#include <mg/gemm_inputs.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

namespace mg {

inline constexpr int kPlainGemmThreads = 128;
inline constexpr int kPlainGemmTile = 64;

// Copies 8 elements of a row into column `row` of a transposed tile. A row or an element that does
// not exist is zero.
template <class T>
__device__ __forceinline__ void copy_transposed(float (*tile)[kPlainGemmTile + 4], int row, int at,
                                                const T* from, bool is_there) {
  float values[8] = {};
  if (is_there) to_floats(load<8>(from), values);
#pragma unroll
  for (int i = 0; i < 8; ++i) tile[at + i][row] = values[i];
}

template <class Inputs, class Epilogue>
__device__ __forceinline__ void plain_gemm_tile(const Inputs& in, int first_row, int first_column,
                                                const Epilogue& epilogue) {
  constexpr int kWeights = Inputs::kWeights, kStep = 16;
  MG_SHARED(float, x_tile, [kStep][kPlainGemmTile + 4]);
  MG_SHARED(float, w_tiles, [kWeights][kStep][kPlainGemmTile + 4]);
  const int thread = static_cast<int>(threadIdx.x);
  const int copied = thread / 2, at = thread % 2 * 8;  // the thread's row of a tile, and its piece
  const int own_row = thread / 8 * 4, own_column = thread % 8 * 8;
  float sums[kWeights][4][8] = {};
  for (int first_k = 0; first_k < in.k; first_k += kStep) {
    const bool is_inside = first_k + at < in.k;
    copy_transposed(x_tile, copied, at, in.x + (first_row + copied) * in.x_stride + first_k + at,
                    is_inside && first_row + copied < in.m);
#pragma unroll
    for (int i = 0; i < kWeights; ++i) {
      copy_transposed(w_tiles[i], copied, at,
                      in.w[i] + (first_column + copied) * in.w_stride[i] + first_k + at,
                      is_inside && first_column + copied < in.n);
    }
    __syncthreads();
#pragma unroll 4
    for (int step = 0; step < kStep; ++step) {
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const float x = x_tile[step][own_row + r];
#pragma unroll
        for (int i = 0; i < kWeights; ++i) {
#pragma unroll
          for (int c = 0; c < 8; ++c) sums[i][r][c] += x * w_tiles[i][step][own_column + c];
        }
      }
    }
    __syncthreads();
  }
  if (first_column + own_column >= in.n) return;
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    if (first_row + own_row + r >= in.m) continue;
    float values[kWeights][8];
#pragma unroll
    for (int i = 0; i < kWeights; ++i) {
#pragma unroll
      for (int c = 0; c < 8; ++c) values[i][c] = sums[i][r][c];
    }
    epilogue(first_row + own_row + r, first_column + own_column, values);
  }
}

}  // namespace mg

// linear.decode for 2 to 8 rows of 16-bit weights on the tensor cores. The formulas are in
// decode.cu.
//
// The plain version: a warp computes 16 outputs for 8 rows of x.
//
//   __global__ void linear(const T* x, const T* w, T* y, int in, int out) {
//     int o = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 16;
//     float sums[4] = {};                                  the lane's part of 16 x 8 sums
//     for (int i = 0; i < in; i += 16) {
//       mma_m16n8<T, 16>(sums, fragment of w[o ... o + 15][i ... i + 15],
//                        fragment of x[0 ... 7][i ... i + 15]);
//     }
//     y[...] = sums;
//   }
//
// Algorithm  The plain version, with the weights of many steps on their way to a ring in shared
//            memory. The first of these copies start before the kernel waits for the previous
//            kernel (row_tiles.cuh). Each block normalizes x itself and keeps it in shared memory.
//            If x is fp32 or comes from a norm, it is cut into 2 or 3 elements of T that add up to
//            it. For the products these parts are separate rows (input_parts.cuh). So the result is
//            as exact as that of decode.cu.
// Traffic    That of decode.cu.
// Work       The 2 * rows flops per weight become 16 * ceil(rows * PARTS / 8), and cost few
//            instructions: 512 bytes of weights take a copy, a load from shared memory, and a
//            product for each 8 columns of x. An SM of an H200 gets 512 bytes of weights every 31
//            cycles, in which it can issue 124 instructions. README.md has the counts.
// Tunables   THREADS, SPLIT, BLOCKS_PER_SM, TRIGGER and PDL are those of decode.cu.
//            TILES   The tiles of 16 rows of w that a group of SPLIT warps computes at a time. They
//                    share the reads of x. More tiles leave warps idle if `out` is small.
//            STAGES  The steps of 64 columns in flight: TILES * 2 KB each, for every warp.
//            INPUT   direct: x from the caches, each time, for rows that are too wide.
// Numerics   Products are exact, and sums are fp32, in a fixed order (row_tiles.cuh). y is rounded
//            once. Repeated runs give equal bits, whatever the size of the grid.

#include <mg/grid_dependency.cuh>
#include <mg/types.cuh>

#include "decode_epilogue.cuh"
#include "input_parts.cuh"
#include "row_tiles.cuh"

template <class T, class X, class Y, int kRows, int kParts, int kThreads, int kTiles, int kStages,
          int kSplit, int kBlocksPerSm, INPUT kInput, TRIGGER kTrigger, bool kPdl, bool kRmsNorm,
          bool kLayerNorm, bool kGelu, bool kGate, bool kHasNormBias, bool kHasBias,
          bool kHasResidual>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    linear_decode_mma(const X* x, const T* norm_weight, const T* norm_bias, const T* w,
                      const T* w_up, const T* bias, const Y* residual, Y* y, float eps, int in,
                      int out, mg::i64 x_stride, mg::i64 w_stride, mg::i64 residual_stride,
                      mg::i64 y_stride) {
  using Shape =
      InputShape<X, T, kRows, 8, kThreads, norm_of<kRmsNorm, kLayerNorm>(), kHasNormBias, kInput>;
  using Input = InputParts<Shape, kParts>;
  using Tiles = TileShape<T, kGate ? 2 : 1, kThreads, kTiles, kStages, kSplit, kTrigger, kPdl>;
  if constexpr (kPdl && !Tiles::kLetsNextStart) mg::let_next_grid_start();
  const DecodeWeights<T> weights{w, w_up != nullptr ? w_up : w + out * w_stride, out, in, w_stride};
  RowTiles<Tiles, DecodeWeights<T>, Input> tiles(weights, behind_parts<Shape, kParts>(in));
  if constexpr (kPdl) mg::wait_for_previous_grid();
  Input input({x, norm_weight, norm_bias, in, x_stride, eps});
  input.prepare();
  tiles.run(input, DecodeEpilogue<T, Y, kGelu, kGate, kHasBias, kHasResidual>{
                       bias, residual, y, residual_stride, y_stride, out});
}

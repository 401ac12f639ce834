// linear.qkv for 2 to 8 sequences and 16-bit weights on the tensor cores. The formulas are in
// qkv.cu, and the plain version of the products in decode_mma.cu.
//
// Algorithm  That of decode_mma.cu. A tile of 16 rows of w is 8 pairs: a lane has the sums of both
//            elements of a pair, which qkv_epilogue.cuh rotates and appends.
// Traffic    That of qkv.cu.
// Work       That of decode_mma.cu. The rotation takes hardly any time.
// Tunables   Those of decode_mma.cu, except INPUT: x is in shared memory.
// Numerics   Products are exact, sums and the rotation are fp32, in a fixed order (row_tiles.cuh),
//            and every result is rounded once.

#include <mg/grid_dependency.cuh>
#include <mg/types.cuh>

#include "input_parts.cuh"
#include "qkv_epilogue.cuh"
#include "row_tiles.cuh"

template <class T, class X, class C, int kRows, int kHeadDim, int kParts, int kThreads, int kTiles,
          int kStages, int kSplit, int kBlocksPerSm, TRIGGER kTrigger, bool kPdl, bool kRmsNorm,
          bool kLayerNorm, bool kHalves, bool kPairs, bool kHasNormBias, bool kHasBias>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    linear_qkv_mma(const X* x, const T* norm_weight, const T* norm_bias, const T* w, const T* bias,
                   const float* table, const int* positions, C* q, C* k_cache, C* v_cache,
                   float eps, int in, int heads, int kv_heads, int capacity, mg::i64 x_stride,
                   mg::i64 w_stride, mg::i64 q_stride, mg::i64 cache_sb, mg::i64 cache_ss,
                   mg::i64 cache_sh) {
  using P = HeadPairs<kHeadDim, kPairs>;
  using Shape = InputShape<X, T, kRows, 8, kThreads, norm_of<kRmsNorm, kLayerNorm>(), kHasNormBias,
                           INPUT::shared>;
  using Input = InputParts<Shape, kParts>;
  using Tiles = TileShape<T, 2, kThreads, kTiles, kStages, kSplit, kTrigger, kPdl>;
  using Stream = RowTiles<Tiles, QkvWeights<T, P>, Input>;
  if constexpr (kPdl && !Tiles::kLetsNextStart) mg::let_next_grid_start();
  const QkvWeights<T, P> weights{w, w_stride, (heads + 2 * kv_heads) * P::kCount, in,
                                 P::kNext * w_stride};
  Stream tiles(weights, behind_parts<Shape, kParts>(in));
  if constexpr (kPdl) mg::wait_for_previous_grid();
  const QkvEpilogue<T, C, P, kHalves || kPairs, kHasBias> epilogue(
      Stream::own_row(), kRows, bias, table, positions, q,
      {k_cache, v_cache, cache_sb, cache_ss, cache_sh}, heads, kv_heads, capacity, q_stride);
  Input input({x, norm_weight, norm_bias, in, x_stride, eps});
  input.prepare();
  tiles.run(input, epilogue);
}

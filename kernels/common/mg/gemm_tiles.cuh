// Products of matrices by mma.sync: a block computes a tile of each product, with a ring of stages
// in shared memory (sm_80).
//
//   using V = mg::GemmTiles<T, kWeights, BLOCK_M, BLOCK_N, BLOCK_K, WARPS_M, WARPS_N, STAGES>;
//   const mg::GemmTilePlace place = mg::place_of_tile<V>(block, inputs.m, inputs.n, GROUP_M);
//   mg::gemm_tile<V>(inputs, place, epilogue);
//   mg::gemm_split_tile<V>(inputs, place, split, splits, partials, counters, epilogue);
//
// A block has V::kThreads threads and V::kSharedBytes of dynamic shared memory. Inputs and epilogue
// are those of <mg/gemm_inputs.cuh>. A stage holds BLOCK_K columns of BLOCK_M rows of x and of
// BLOCK_N rows of each weight. Rows and columns that do not exist are zeros there.
//
// gemm_split_tile is for problems with few tiles: `splits` blocks share a tile, and each adds up a
// part of k. `partials` has V::kTileFloats floats for each tile and split, `counters` a zero for
// each tile. The block that ends last adds up the parts in their order, so that repetitions give
// the same bits.

#pragma once

#include <mg/async_copy.cuh>
#include <mg/gemm_inputs.cuh>
#include <mg/last_block.cuh>
#include <mg/ldmatrix.cuh>
#include <mg/mma.cuh>
#include <mg/quad_transpose.cuh>
#include <mg/shared.cuh>
#include <mg/swizzle.cuh>
#include <mg/types.cuh>

namespace mg {

// The constants of a variant.
template <class T_, int kWeights_, int BLOCK_M, int BLOCK_N, int BLOCK_K, int WARPS_M, int WARPS_N,
          int STAGES>
struct GemmTiles {
  using T = T_;
  static constexpr int kWeights = kWeights_;
  static constexpr int kRows = BLOCK_M, kColumns = BLOCK_N, kDepth = BLOCK_K, kStages = STAGES;
  static constexpr int kThreads = 32 * WARPS_M * WARPS_N, kWarpsN = WARPS_N;
  static constexpr int kWarpRows = BLOCK_M / WARPS_M, kWarpColumns = BLOCK_N / WARPS_N;
  static constexpr int kRowTiles = kWarpRows / 16, kColumnTiles = kWarpColumns / 8;
  static constexpr int kRowBytes = 2 * BLOCK_K, kPieces = BLOCK_K / 8;
  static constexpr int kCopiedAtOnce = kThreads / kPieces;  // rows
  static constexpr int kStageBytes = (BLOCK_M + kWeights * BLOCK_N) * kRowBytes;
  static constexpr int kSharedBytes = STAGES * kStageBytes;
  static constexpr int kTileFloats = kWeights * BLOCK_M * BLOCK_N;
  static_assert(BLOCK_M % (16 * WARPS_M) == 0, "a warp has whole fragments of x");
  static_assert(BLOCK_N % (32 * WARPS_N) == 0, "four lanes exchange 32 columns");
  static_assert(BLOCK_K % 32 == 0 && kCopiedAtOnce % 8 == 0, "the swizzle repeats");
  static_assert(STAGES >= 2, "a stage arrives while another is computed");

  template <int kTileRows>
  static constexpr int kCopiesOf = (kTileRows + kCopiedAtOnce - 1) / kCopiedAtOnce;
  using Copies = AsyncCopies<STAGES*(kCopiesOf<BLOCK_M> + kWeights * kCopiesOf<BLOCK_N>)>;
};

// Where the tile of a block begins. `tile` counts the tiles row by row.
struct GemmTilePlace {
  int first_row, first_column, tile;
};

// Blocks that run at the same time should share rows of x and of w in L2. So the blocks go through
// `group` rows of tiles column by column before they begin with the next `group` rows.
template <class V>
__device__ __forceinline__ GemmTilePlace place_of_tile(int block, int m, int n, int group) {
  const int tiles_m = (m + V::kRows - 1) / V::kRows, tiles_n = (n + V::kColumns - 1) / V::kColumns;
  const int first = block / (group * tiles_n) * group;
  const int rows = tiles_m - first < group ? tiles_m - first : group;
  const int within = block % (group * tiles_n);
  const int row = first + within % rows, column = within / rows;
  return {row * V::kRows, column * V::kColumns, row * tiles_n + column};
}

// Copies one thread's part of kTileRows rows of a matrix into a stage.
template <class V, int kTileRows>
class GemmTileCopier {
 public:
  using T = typename V::T;

  __device__ __forceinline__ GemmTileCopier(const T* matrix, i64 stride, int first_row, int rows)
      : row_(static_cast<int>(threadIdx.x) / V::kPieces),
        column_(static_cast<int>(threadIdx.x) % V::kPieces * 8),
        rows_left_(rows - first_row - row_),
        to_(swizzled<V::kRowBytes>(static_cast<u32>(row_), static_cast<u32>(column_ / 8))),
        step_(V::kCopiedAtOnce * stride),
        from_(matrix + (first_row + row_) * stride + column_) {}

  __device__ __forceinline__ void copy(typename V::Copies& copies, unsigned char* tile, int first_k,
                                       int k) const {
    const bool is_inside = first_k + column_ < k;
    const T* from = from_ + first_k;
#pragma unroll
    for (int start = 0; start < kTileRows; start += V::kCopiedAtOnce) {
      if (kTileRows % V::kCopiedAtOnce != 0 && start + row_ >= kTileRows) break;
      copies.template copy_or_zero<16>(tile + start * V::kRowBytes + to_, from,
                                       is_inside && start < rows_left_);
      from += step_;
    }
  }

 private:
  int row_, column_, rows_left_;
  u32 to_;
  i64 step_;
  const T* from_;
};

// The sums of a warp, in the layout of mma.sync.
template <class V>
class GemmSums {
 public:
  using T = typename V::T;

  __device__ __forceinline__ GemmSums()
      : x_lane_(threadIdx.x % 16u, threadIdx.x % 32u / 16u),
        w_lane_(threadIdx.x % 32u / 16u * 8u + threadIdx.x % 8u, threadIdx.x / 8u % 2u),
        row_(static_cast<int>(threadIdx.x) / 32 / V::kWarpsN * V::kWarpRows),
        column_(static_cast<int>(threadIdx.x) / 32 % V::kWarpsN * V::kWarpColumns) {}

  // Adds the products of a stage. The fragments of the next 16 columns are loaded before the
  // products of these 16 begin.
  __device__ __forceinline__ void add_stage(const unsigned char* stage) {
    constexpr int kSteps = V::kDepth / 16;
    Fragments fragments[2];
    load(stage, 0, fragments[0]);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step + 1 < kSteps) load(stage, step + 1, fragments[(step + 1) % 2]);
      multiply(fragments[step % 2]);
    }
  }

  template <class Epilogue>
  __device__ __forceinline__ void write(const GemmTilePlace& place, int m, int n,
                                        const Epilogue& epilogue) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < V::kRowTiles; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = place.first_row + row_ + 16 * i + 8 * r + lane / 4;
#pragma unroll
        for (int group = 0; group < V::kColumnTiles / 4; ++group) {
          const int column = place.first_column + column_ + 32 * group + 8 * (lane % 4);
          float values[V::kWeights][8];
#pragma unroll
          for (int w = 0; w < V::kWeights; ++w) {
#pragma unroll
            for (int c = 0; c < 2; ++c) {
              u32 words[4];
#pragma unroll
              for (int j = 0; j < 4; ++j) {
                words[j] = __float_as_uint(sums_[w][i][4 * group + j][2 * r + c]);
              }
              transpose_in_quad(words);
#pragma unroll
              for (int j = 0; j < 4; ++j) values[w][2 * j + c] = __uint_as_float(words[j]);
            }
          }
          if (row < m && column < n) epilogue(row, column, values);
        }
      }
    }
  }

  // Writes the thread's sums to the workspace, 4 at a time.
  __device__ __forceinline__ void store(float* partial) {
    float4* const fours = reinterpret_cast<float4*>(partial) + threadIdx.x;
    for_each_four([&](int i, const float* four) {
      fours[i * V::kThreads] = make_float4(four[0], four[1], four[2], four[3]);
    });
  }

  // Adds what the same thread of another block stored.
  __device__ __forceinline__ void add(const float* partial) {
    const float4* const fours = reinterpret_cast<const float4*>(partial) + threadIdx.x;
    for_each_four([&](int i, float* four) {
      const float4 more = __ldcg(fours + i * V::kThreads);
      four[0] += more.x;
      four[1] += more.y;
      four[2] += more.z;
      four[3] += more.w;
    });
  }

  __device__ __forceinline__ void clear() {
    for_each_four([](int, float* four) { four[0] = four[1] = four[2] = four[3] = 0.0f; });
  }

 private:
  struct Fragments {
    u32 x[V::kRowTiles][4];
    u32 w[V::kWeights][V::kColumnTiles][2];
  };

  __device__ __forceinline__ void load(const unsigned char* stage, int step,
                                       Fragments& fragments) const {
    const unsigned char* const x = stage + row_ * V::kRowBytes;
#pragma unroll
    for (int i = 0; i < V::kRowTiles; ++i) {
      ldmatrix_x4(fragments.x[i], x + x_lane_.offset(16 * i, step));
    }
#pragma unroll
    for (int w = 0; w < V::kWeights; ++w) {
      const unsigned char* const rows =
          stage + (V::kRows + w * V::kColumns + column_) * V::kRowBytes;
#pragma unroll
      for (int j = 0; j < V::kColumnTiles; j += 2) {
        u32 both[4];
        ldmatrix_x4(both, rows + w_lane_.offset(8 * j, step));
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          fragments.w[w][j][h] = both[h];
          fragments.w[w][j + 1][h] = both[2 + h];
        }
      }
    }
  }

  __device__ __forceinline__ void multiply(const Fragments& fragments) {
#pragma unroll
    for (int w = 0; w < V::kWeights; ++w) {
#pragma unroll
      for (int i = 0; i < V::kRowTiles; ++i) {
#pragma unroll
        for (int j = 0; j < V::kColumnTiles; ++j) {
          mma_m16n8<T, 16>(sums_[w][i][j], fragments.x[i], fragments.w[w][j]);
        }
      }
    }
  }

  template <class Visit>
  __device__ __forceinline__ void for_each_four(const Visit& visit) {
#pragma unroll
    for (int i = 0; i < V::kWeights * V::kRowTiles * V::kColumnTiles; ++i) {
      visit(i, sums_[i / (V::kRowTiles * V::kColumnTiles)][i / V::kColumnTiles % V::kRowTiles]
                    [i % V::kColumnTiles]);
    }
  }

  SwizzledLane<V::kRowBytes> x_lane_, w_lane_;
  int row_, column_;  // of the warp in the tile
  float sums_[V::kWeights][V::kRowTiles][V::kColumnTiles][4] = {};
};

// Adds the products of steps [begin, end) to the sums. A step is BLOCK_K columns of x.
template <class V, class Inputs>
__device__ __forceinline__ void add_steps(const Inputs& in, const GemmTilePlace& place, int begin,
                                          int end, GemmSums<V>& sums) {
  static_assert(V::kWeights == Inputs::kWeights && V::kWeights <= 2, "one or two products");
  unsigned char* const ring = dynamic_shared<unsigned char>();
  typename V::Copies copies;
  const GemmTileCopier<V, V::kRows> x(in.x, in.x_stride, place.first_row, in.m);
  constexpr int kLast = V::kWeights - 1;
  const GemmTileCopier<V, V::kColumns> first(in.w[0], in.w_stride[0], place.first_column, in.n),
      last(in.w[kLast], in.w_stride[kLast], place.first_column, in.n);
  const auto load = [&](int step, int slot) {
    if (step < end) {
      unsigned char* const stage = ring + slot * V::kStageBytes;
      const int first_k = step * V::kDepth;
      x.copy(copies, stage, first_k, in.k);
      first.copy(copies, stage + V::kRows * V::kRowBytes, first_k, in.k);
      if constexpr (kLast > 0) {
        last.copy(copies, stage + (V::kRows + V::kColumns) * V::kRowBytes, first_k, in.k);
      }
    }
    copies.end_group();
  };
#pragma unroll
  for (int slot = 0; slot < V::kStages - 1; ++slot) load(begin + slot, slot);
  int slot = 0;
  for (int step = begin; step < end; ++step) {
    copies.template wait<V::kStages - 2>();
    __syncthreads();  // This stage has arrived, and the place of the previous one is free.
    load(step + V::kStages - 1, slot == 0 ? V::kStages - 1 : slot - 1);
    sums.add_stage(ring + slot * V::kStageBytes);
    slot = slot == V::kStages - 1 ? 0 : slot + 1;
  }
}

template <class V, class Inputs, class Epilogue>
__device__ __forceinline__ void gemm_tile(const Inputs& in, const GemmTilePlace& place,
                                          const Epilogue& epilogue) {
  GemmSums<V> sums;
  add_steps(in, place, 0, (in.k + V::kDepth - 1) / V::kDepth, sums);
  sums.write(place, in.m, in.n, epilogue);
}

template <class V, class Inputs, class Epilogue>
__device__ __forceinline__ void gemm_split_tile(const Inputs& in, const GemmTilePlace& place,
                                                int split, int splits, float* partials,
                                                u32* counters, const Epilogue& epilogue) {
  const int steps = (in.k + V::kDepth - 1) / V::kDepth, share = (steps + splits - 1) / splits;
  const int begin = split * share < steps ? split * share : steps;
  const int end = begin + share < steps ? begin + share : steps;
  GemmSums<V> sums;
  add_steps(in, place, begin, end, sums);
  float* const of_tile = partials + i64{place.tile} * splits * V::kTileFloats;
  sums.store(of_tile + i64{split} * V::kTileFloats);
  if (!is_last_block(counters + place.tile, splits)) return;
  sums.clear();
  for (int part = 0; part < splits; ++part) sums.add(of_tile + i64{part} * V::kTileFloats);
  sums.write(place, in.m, in.n, epilogue);
}

}  // namespace mg

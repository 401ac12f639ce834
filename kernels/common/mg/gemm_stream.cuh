// Products of a few rows of x with large weights, at the speed at which memory delivers the
// weights (sm_80).
//
//   using V = mg::GemmStream<T, kWeights, ROWS, WARPS, STAGES>;          m <= ROWS
//   const mg::GemmStreamWork work{...};
//   mg::stream_gemm<V, PDL>(inputs, work, epilogue);
//
// Inputs and epilogue are those of <mg/gemm_inputs.cuh>. k is cut into `parts` of `chunk` columns.
// A block keeps its chunk of x in shared memory and walks over tiles of 16 rows of the weights. Its
// warps take steps of 64 columns of a tile in turn. A warp copies its own steps by cp.async, STAGES
// ahead and also past the end of a tile. Each lane reads exactly what it copied, so the warps meet
// only once per tile, to add up their sums.
//
// The product is y^T = w x^T by mma.sync: 16 rows of w are the rows of a product, and 8 rows of x
// its columns. A lane has 8 consecutive elements of a row of w in one access of 16 bytes. mma.sync
// wants other elements there, but the order of the products of a sum is free: lane q of a row has
// elements 8 * q to 8 * q + 7 of 32 in both operands.
//
// With PDL (sm_90), the next grid starts when every block has come to its last tile. Its blocks
// prefetch the beginning of their first tile into L2, and wait. So memory is busy while this grid
// ends. With an earlier start, this grid's weights would push the prefetched ones out of L2 again.
//
// With several parts, the sums of each part lie in the workspace, and the warp that ends last adds
// them up in the order of the parts.

#pragma once

#include <mg/async_copy.cuh>
#include <mg/bulk_copy.cuh>
#include <mg/gemm_inputs.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/last_warp.cuh>
#include <mg/mma.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

namespace mg {

// The constants of a variant.
template <class T_, int kWeights_, int ROWS, int WARPS, int STAGES>
struct GemmStream {
  using T = T_;
  static constexpr int kWeights = kWeights_, kRows = ROWS, kWarps = WARPS, kStages = STAGES;
  static constexpr int kThreads = 32 * WARPS;
  static constexpr int kTile = 16, kStep = 64;  // rows and columns of the weights
  static constexpr int kCopies = 4 * kWeights;  // of a lane, for a step
  static constexpr int kStageBytes = kCopies * 32 * 16;
  static constexpr int kRingBytes = WARPS * STAGES * kStageBytes;
  static constexpr int kSumRow = kTile + 4;                     // without bank conflicts
  static constexpr int kSumFloats = kWeights * ROWS * kSumRow;  // of a warp
  static constexpr int kSumBytes = 2 * WARPS * kSumFloats * 4;
  static constexpr int kPartFloats = kWeights * ROWS * kTile;
  static_assert(ROWS % 8 == 0 && STAGES >= 2, "whole fragments; a step arrives meanwhile");
};

// chunk is a multiple of 64. partials has V::kPartFloats floats for each tile and part, counters a
// zero for each tile; both may be null if there is one part.
struct GemmStreamWork {
  int chunk, part, parts, first_tile, tiles_apart;
  float* partials;
  u32* counters;
};

// Brings the beginning of the block's first tile into L2, as far as the ring reaches.
template <class V, class Inputs>
__device__ __forceinline__ void prefetch_first_tile(const Inputs& in, const GemmStreamWork& work) {
  const int thread = static_cast<int>(threadIdx.x);
  const int first_k = work.part * work.chunk, row = work.first_tile * V::kTile + thread % V::kTile;
  int length = V::kWarps * V::kStages * V::kStep;
  length = length < work.chunk ? length : work.chunk;
  length = length < in.k - first_k ? length : in.k - first_k;
  if (thread >= V::kTile || row >= in.n) return;
#pragma unroll
  for (int w = 0; w < V::kWeights; ++w) {
    bulk_prefetch_to_l2(in.w[w] + row * in.w_stride[w] + first_k, 2 * length);
  }
}

// The steps of a warp, in the order in which it copies and multiplies them.
template <class V, class Inputs>
class StreamedSteps {
 public:
  using T = typename V::T;

  __device__ __forceinline__ StreamedSteps(const Inputs& in, const GemmStreamWork& work, int steps)
      : in_(in),
        first_k_(work.part * work.chunk),
        steps_(steps),
        tiles_((in.n + V::kTile - 1) / V::kTile),
        tiles_apart_(work.tiles_apart),
        tile_(warp() < steps ? work.first_tile : tiles_),
        step_(warp()),
        ring_(dynamic_shared<unsigned char>() + warp() * V::kStages * V::kStageBytes +
              lane() * 16) {
#pragma unroll
    for (int slot = 0; slot < V::kStages; ++slot) copy_next(slot);
  }

  __device__ __forceinline__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  __device__ __forceinline__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }

  // Waits for the next step and returns what the lane copied: words[w][u][r] are 8 elements of row
  // lane / 4 + 8 * r, from column 32 * u + lane % 4 * 8 on.
  __device__ __forceinline__ void take(uint4 (&words)[V::kWeights][2][2]) {
    copies_.template wait<V::kStages - 1>();
#pragma unroll
    for (int i = 0; i < V::kCopies; ++i) {
      words[i / 4][i / 2 % 2][i % 2] =
          *reinterpret_cast<const uint4*>(ring_ + slot_ * V::kStageBytes + i * 512);
    }
  }

  // Copies a further step into the place of the one that was taken.
  __device__ __forceinline__ void refill() {
    copy_next(slot_);
    slot_ = slot_ == V::kStages - 1 ? 0 : slot_ + 1;
  }

 private:
  __device__ __forceinline__ void copy_next(int slot) {
    if (tile_ < tiles_) {
      const int row = tile_ * V::kTile + lane() / 4;
      const int column = first_k_ + step_ * V::kStep + lane() % 4 * 8;
#pragma unroll
      for (int i = 0; i < V::kCopies; ++i) {
        const int w = i / 4, more_columns = i / 2 % 2 * 32, more_rows = i % 2 * 8;
        copies_.template copy_or_zero<16>(
            ring_ + slot * V::kStageBytes + i * 512,
            in_.w[w] + (row + more_rows) * in_.w_stride[w] + column + more_columns,
            row + more_rows < in_.n && column + more_columns < in_.k);
      }
      step_ += V::kWarps;
      if (step_ >= steps_) {
        step_ = warp();
        tile_ += tiles_apart_;
      }
    }
    copies_.end_group();
  }

  const Inputs& in_;
  int first_k_, steps_, tiles_, tiles_apart_;
  int tile_, step_;  // the next one to copy
  int slot_ = 0;     // the next one to take
  unsigned char* ring_;
  AsyncCopies<V::kStages * V::kCopies> copies_;
};

// The block's chunk of x in shared memory. The rows are 64 bytes longer than the chunk, so that
// eight lanes read different banks.
template <class V>
class StreamedX {
 public:
  using T = typename V::T;

  __device__ __forceinline__ StreamedX(int chunk, int m)
      : x_(reinterpret_cast<T*>(dynamic_shared<unsigned char>() + V::kRingBytes + V::kSumBytes)),
        pitch_(chunk + 32),
        m_(m) {}

  // Columns from k on become zeros, like those of the weights.
  template <class Inputs>
  __device__ __forceinline__ void load_all(const Inputs& in, int first_k, int steps) const {
    const int pieces = steps * (V::kStep / 8);
#pragma unroll 8
    for (int i = static_cast<int>(threadIdx.x); i < m_ * pieces; i += V::kThreads) {
      const int row = i / pieces, column = i % pieces * 8;
      Vec<T, 8> piece = {};
      if (first_k + column < in.k) piece = load<8>(in.x + row * in.x_stride + first_k + column);
      store<8>(x_ + row * pitch_ + column, piece);
    }
  }

  // 8 elements of row 8 * tile + lane / 4. Rows from m on have the elements of the last row; their
  // sums are not used.
  __device__ __forceinline__ uint4 words(int tile, int column) const {
    int row = 8 * tile + static_cast<int>(threadIdx.x) % 32 / 4;
    row = row < m_ ? row : m_ - 1;
    return *reinterpret_cast<const uint4*>(x_ + row * pitch_ + column +
                                           static_cast<int>(threadIdx.x) % 4 * 8);
  }

 private:
  T* x_;
  int pitch_, m_;
};

// Adds the products of a step to the warp's sums.
template <class V>
__device__ __forceinline__ void add_step(const uint4 (&w_words)[V::kWeights][2][2],
                                         const StreamedX<V>& x, int column,
                                         float (&sums)[V::kWeights][V::kRows / 8][4]) {
#pragma unroll
  for (int u = 0; u < 2; ++u) {
#pragma unroll
    for (int t = 0; t < V::kRows / 8; ++t) {
      const uint4 b = x.words(t, column + 32 * u);
      const u32 low[2] = {b.x, b.y}, high[2] = {b.z, b.w};
#pragma unroll
      for (int w = 0; w < V::kWeights; ++w) {
        const uint4 &upper = w_words[w][u][0], &lower = w_words[w][u][1];
        const u32 a_low[4] = {upper.x, lower.x, upper.y, lower.y};
        const u32 a_high[4] = {upper.z, lower.z, upper.w, lower.w};
        mma_m16n8<typename V::T, 16>(sums[w][t], a_low, low);
        mma_m16n8<typename V::T, 16>(sums[w][t], a_high, high);
      }
    }
  }
}

// Adds eight sums: of a part of k, from the workspace, or of a warp, from shared memory.
__device__ __forceinline__ void add_eight(float (&sums)[8], const float4& low, const float4& high) {
  const float more[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
  for (int i = 0; i < 8; ++i) sums[i] += more[i];
}

// Calls visit(row, column) for every row of x and both halves of a tile's 16 columns of y, spread
// over the lanes of a warp.
template <class Visit>
__device__ __forceinline__ void for_each_eight(int m, const Visit& visit) {
  for (int i = static_cast<int>(threadIdx.x) % 32; i < 2 * m; i += 32) visit(i / 2, i % 2 * 8);
}

// One warp adds up what all warps left in `sums` and finishes the tile.
template <class V, class Inputs, class Epilogue>
__device__ __forceinline__ void finish_tile(const Inputs& in, const GemmStreamWork& work, int tile,
                                            const float* sums, const Epilogue& epilogue) {
  const int first_column = tile * V::kTile;
  const i64 first_part = i64{tile} * work.parts;
  for_each_eight(in.m, [&](int row, int column) {
    float values[V::kWeights][8] = {};
#pragma unroll
    for (int w = 0; w < V::kWeights; ++w) {
      const float* const from = sums + (w * V::kRows + row) * V::kSumRow + column;
#pragma unroll
      for (int warp = 0; warp < V::kWarps; ++warp) {
        const auto* const four = reinterpret_cast<const float4*>(from + warp * V::kSumFloats);
        add_eight(values[w], four[0], four[1]);
      }
    }
    if (work.parts == 1) {
      if (first_column + column < in.n) epilogue(row, first_column + column, values);
      return;
    }
#pragma unroll
    for (int w = 0; w < V::kWeights; ++w) {
      const float(&v)[8] = values[w];
      auto* const to =
          reinterpret_cast<float4*>(work.partials + (first_part + work.part) * V::kPartFloats +
                                    (w * V::kRows + row) * V::kTile + column);
      to[0] = make_float4(v[0], v[1], v[2], v[3]);
      to[1] = make_float4(v[4], v[5], v[6], v[7]);
    }
  });
  if (work.parts == 1 || !is_last_warp(work.counters + tile, work.parts)) return;
  for_each_eight(in.m, [&](int row, int column) {
    float values[V::kWeights][8] = {};
    for (int part = 0; part < work.parts; ++part) {
#pragma unroll
      for (int w = 0; w < V::kWeights; ++w) {
        const auto* const four =
            reinterpret_cast<const float4*>(work.partials + (first_part + part) * V::kPartFloats +
                                            (w * V::kRows + row) * V::kTile + column);
        add_eight(values[w], __ldcg(four), __ldcg(four + 1));
      }
    }
    if (first_column + column < in.n) epilogue(row, first_column + column, values);
  });
}

template <class V, bool kPdl, class Inputs, class Epilogue>
__device__ __forceinline__ void stream_gemm(const Inputs& in, const GemmStreamWork& work,
                                            const Epilogue& epilogue) {
  static_assert(V::kWeights == Inputs::kWeights, "the weights of the variant");
  const int first_k = work.part * work.chunk, tiles = (in.n + V::kTile - 1) / V::kTile;
  const int length = in.k - first_k < work.chunk ? in.k - first_k : work.chunk;
  const int steps = (length + V::kStep - 1) / V::kStep;
  if constexpr (kPdl) {
    prefetch_first_tile<V>(in, work);
    wait_for_previous_grid();
  }
  StreamedSteps<V, Inputs> w(in, work, steps);
  const StreamedX<V> x(work.chunk, in.m);
  x.load_all(in, first_k, steps);
  __syncthreads();

  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  float* const all_sums = reinterpret_cast<float*>(dynamic_shared<unsigned char>() + V::kRingBytes);
  int finisher = 0, buffer = 0;
  for (int tile = work.first_tile; tile < tiles; tile += work.tiles_apart) {
    if constexpr (kPdl) {
      if (tile + work.tiles_apart >= tiles) let_next_grid_start();
    }
    float sums[V::kWeights][V::kRows / 8][4] = {};
    for (int step = warp; step < steps; step += V::kWarps) {
      uint4 words[V::kWeights][2][2];
      w.take(words);
      w.refill();
      add_step<V>(words, x, step * V::kStep, sums);
    }
    float* const block_sums = all_sums + buffer * V::kWarps * V::kSumFloats;
    float* const own = block_sums + warp * V::kSumFloats;
#pragma unroll
    for (int i = 0; i < V::kWeights * V::kRows / 8 * 4; ++i) {
      const int weight = i / (V::kRows / 2), t = i / 4 % (V::kRows / 8), r = i / 2 % 2, c = i % 2;
      own[(weight * V::kRows + 8 * t + 2 * (lane % 4) + c) * V::kSumRow + 8 * r + lane / 4] =
          sums[weight][t][2 * r + c];
    }
    // The next tile's sums go to the other buffer. The finisher of this tile has read this buffer
    // before the barrier of the next tile.
    __syncthreads();
    if (warp == finisher) finish_tile<V>(in, work, tile, block_sums, epilogue);
    finisher = finisher == V::kWarps - 1 ? 0 : finisher + 1;
    buffer ^= 1;
  }
}

}  // namespace mg

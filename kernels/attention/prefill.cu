// attention.prefill  o[b, i, h] = sum over visible j of softmax(logit[j]) * v[b, j, h / group]
//                    logit[j] = scale * dot(q[b, i, h], k[b, j, h / group])
//                    lse[b, h, i] = log(sum over visible j of exp(logit[j]))
// attention.varlen   the same, sequence by sequence of a batch that is packed without padding
//
//   causal     key j is visible to query i where j <= i + keys - queries: the last query sees all
//   windowed   keys further than `window` from i + keys - queries are not visible
//   capped     logits go through softcap * tanh(logit / softcap) first
// A query that sees no key gives o = 0 and lse = -inf. scale is positive.
//
// Algorithm  FlashAttention-2 on mma.sync. A block owns BLOCK_M queries of one head and walks over
//            its keys in tiles of BLOCK_N, from the last to the first; K and V arrive in shared
//            memory by cp.async while the tile before is worked on. A warp owns whole rows, 16 to
//            64 of them: S = Q K^T, the softmax and O += P V stay in its registers, row sums and
//            maxima need two shuffles in a quad, and S is P's operand as it lies there. Scale and
//            log2(e) are one factor, so that an exponential is a fused multiply-add and one ex2.
//            Tiles that every row of a warp sees whole have no mask; those that no row sees are
//            neither loaded nor computed. The longest rows of blocks start first.
// Traffic    reads q once, k and v once for each head of a group and each BLOCK_M queries (from L2,
//            where the blocks of a head meet), writes o: 2 * head_dim * (2 * queries * heads +
//            2 * keys * kv_heads) bytes must move, 4 % of the time at 4096 tokens.
// Work       4 * queries * keys * head_dim flops a head, half of it where causal: bound by the
//            tensor cores, which do 2490 flops an SM and clock by mma.sync (652 TFLOP/s of an H200
//            at 1980 MHz, 72 % of its wgmma). Beside the products of a tile, as shares of their
//            time: exponentials (16 an SM and clock) 0.62 at head_dim 64, 0.31 at 128, 0.16 at 256;
//            shared memory (128 bytes a clock), for K, V, Q and the copies, 0.9 with 32 rows a
//            warp, 1.3 with 16, 0.7 with 48, and 0.15 less where Q is in registers. Blocks hide one
//            another's softmax, not all of it: FlashAttention-2 gets 51 % of the 652. Expected on
//            an H200: 330 to 400 TFLOP/s full at head_dim 128, 300 to 360 at 64, 290 to 340 at 256;
//            causal 5 to 10 % less at 4096 tokens, 20 % less at 1024.
// Tunables   BLOCK_M     queries of a block: traffic from L2 and copies a product, fewer blocks
//            BLOCK_N     keys of a tile: fewer barriers and rescalings, registers for S
//            WARPS       BLOCK_M / WARPS rows a warp, 16 to 64: K and V are read from shared memory
//                        once for all of them, against registers for each
//            STAGES      tiles of K and V in shared memory. 1: K's next tile arrives during the
//                        softmax, V's during Q K^T, two barriers a tile; more: one barrier
//            Q_IN_REGS   Q stays in registers instead of being read for every tile
//            OVERLAP     Q K^T of the next tile stands among the exponentials of this one
//            ROW_SUM     alu: adds what the products will see; mma: a column of ones beside V
//            RESCALE     always: O follows each new maximum. seldom: only one that is 2^8 above
//            BLOCKS_PER_SM   that the compiler leaves registers for
//            HEADS_AT_ONCE   heads (times batch) whose blocks start longest first, together
// Numerics   products exact, sums, softmax and O in fp32; P is rounded to T, and row sums add the
//            rounded P, so that V of ones gives exactly 1 (lse has a sum of its own, of what was
//            not rounded). o is rounded once. RESCALE seldom lets P grow to 2^8. The order of all
//            sums is fixed by the parameters.

#include <mg/async_copy.cuh>
#include <mg/ldmatrix.cuh>
#include <mg/math.cuh>
#include <mg/mma.cuh>
#include <mg/shared.cuh>
#include <mg/swizzle.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

enum class ROW_SUM { alu, mma };
enum class RESCALE { always, seldom };

constexpr float kLog2E = 1.4426950408889634f, kLn2 = 0.69314718055994531f;
constexpr float kSeldomBits = 8.0f;  // that a maximum rises before RESCALE::seldom follows

__device__ __forceinline__ int least(int a, int b) { return a < b ? a : b; }
__device__ __forceinline__ int most(int a, int b) { return a > b ? a : b; }

// What a variant is.
template <class T_, int HEAD_DIM, int BLOCK_M, int BLOCK_N, int WARPS, int STAGES, bool Q_IN_REGS,
          bool OVERLAP, ROW_SUM SUM, RESCALE SCALING, bool CAUSAL, bool WINDOWED, bool CAPPED,
          bool LSE>
struct Variant {
  using T = T_;
  static constexpr int kHeadDim = HEAD_DIM, kRows = BLOCK_M, kKeys = BLOCK_N, kStages = STAGES;
  static constexpr int kThreads = 32 * WARPS;
  static constexpr int kRowTiles = BLOCK_M / (16 * WARPS);  // of 16 rows, a warp
  static constexpr int kWarpRows = 16 * kRowTiles;
  static constexpr int kKeyTiles = BLOCK_N / 8, kDimTiles = HEAD_DIM / 8;  // of 8 columns
  static constexpr int kRowBytes = HEAD_DIM * 2;
  static constexpr bool kQInRegisters = Q_IN_REGS, kOverlap = OVERLAP;
  static constexpr bool kSumByMma = SUM == ROW_SUM::mma, kSeldom = SCALING == RESCALE::seldom;
  static constexpr bool kCausal = CAUSAL, kWindowed = WINDOWED, kCapped = CAPPED, kLse = LSE;
  static_assert(BLOCK_M % (16 * WARPS) == 0 && BLOCK_N % 16 == 0 && HEAD_DIM % 32 == 0,
                "whole fragments");
  static_assert(!OVERLAP || STAGES > 1, "the next tile is there");

  // Rows that a pass of the block copies, `kAcross` threads each.
  static constexpr int kAcross = HEAD_DIM % 128 == 0 ? 16 : HEAD_DIM % 64 == 0 ? 8 : 4;
  static constexpr int kCopiedAtOnce = kThreads / kAcross;
  template <int kTileRows>
  static constexpr int kCopiesOf = (kTileRows + kCopiedAtOnce - 1) / kCopiedAtOnce*(kDimTiles /
                                                                                    kAcross);
  using Copies =
      mg::AsyncCopies<kCopiesOf<BLOCK_M> + 2 * STAGES * kCopiesOf<BLOCK_N> + 1, mg::InL2::normal>;
};

// One head of one sequence.
template <class T>
struct Sequence {
  const T *q, *k, *v;
  T* o;
  float* lse;                                      // or null
  mg::i64 q_stride, k_stride, v_stride, o_stride;  // in elements, of a row
  int rows, keys;
};

struct Scaling {
  float scale, softcap;
  int window;
};

// What a thread copies of tiles of a matrix: every kCopiedAtOnce-th row, in swizzled shared memory
// too, so that its places in a tile are a fixed distance apart.
template <class V>
class TileCopier {
 public:
  using T = typename V::T;

  __device__ __forceinline__ TileCopier(const T* matrix, mg::i64 stride)
      : first_row_(static_cast<int>(threadIdx.x) / V::kAcross),
        first_piece_(static_cast<int>(threadIdx.x) % V::kAcross),
        stride_(stride),
        from_(matrix + first_row_ * stride + first_piece_ * 8) {}

  // Rows [row, row + kRows) into `tile`; kIsLast: those from `rows` on become zeros.
  template <int kRows, bool kIsLast>
  __device__ __forceinline__ void copy(typename V::Copies& copies, T* tile, int row,
                                       int rows) const {
    const T* from = from_ + row * stride_;
    auto* const to = reinterpret_cast<unsigned char*>(tile);
#pragma unroll
    for (int start = 0; start < kRows; start += V::kCopiedAtOnce) {
      if (kRows % V::kCopiedAtOnce != 0 && start + first_row_ >= kRows) break;
#pragma unroll
      for (int across = 0; across < V::kDimTiles; across += V::kAcross) {
        const auto place =
            to + mg::swizzled<V::kRowBytes>(static_cast<mg::u32>(start + first_row_),
                                            static_cast<mg::u32>(across + first_piece_));
        if constexpr (kIsLast) {
          copies.template copy_or_zero<16>(place, from + across * 8,
                                           row + start + first_row_ < rows);
        } else {
          copies.template copy<16>(place, from + across * 8);
        }
      }
      from += V::kCopiedAtOnce * stride_;
    }
  }

 private:
  int first_row_, first_piece_;
  mg::i64 stride_;
  const T* from_;
};

// A warp's part of a block: its rows of Q, S, P and O.
template <class V>
class WarpRows {
 public:
  using T = typename V::T;

  __device__ __forceinline__ WarpRows(const Scaling& scaling, T* q_tile)
      : lane_(threadIdx.x % 32u),
        first_row_(static_cast<int>(threadIdx.x) / 32 * V::kWarpRows),
        // One half of the lanes names the left pieces, the other the right ones (of Q and V), or
        // the upper and lower rows (of K).
        across_(lane_ % 16u, lane_ / 16u),
        down_(lane_ / 16u * 8u + lane_ % 8u, lane_ / 8u % 2u),
        q_(reinterpret_cast<unsigned char*>(q_tile) + first_row_ * V::kRowBytes),
        factor_(V::kCapped ? 1.0f : scaling.scale * kLog2E) {
#pragma unroll
    for (int i = 0; i < V::kRowTiles; ++i) {
#pragma unroll
      for (int j = 0; j < V::kDimTiles; ++j) {
#pragma unroll
        for (int c = 0; c < 4; ++c) o_[i][j][c] = 0.0f;
      }
#pragma unroll
      for (int c = 0; c < 4; ++c) sum_[i][c] = 0.0f;
      max_[i][0] = max_[i][1] = -mg::infinity();
      unrounded_sum_[i][0] = unrounded_sum_[i][1] = 0.0f;
    }
  }

  __device__ __forceinline__ int first_row() const { return first_row_; }  // in the block

  // Once Q is there, if it stays in registers.
  __device__ __forceinline__ void load_q() {
    if constexpr (V::kQInRegisters) {
#pragma unroll
      for (int step = 0; step < kSteps; ++step) load_q(step, q_registers_[step]);
    }
  }

  struct Scores {
    float s[V::kRowTiles][V::kKeyTiles][4];
  };

  // s = Q K^T. `between(step)` is called after the products of each 16 columns of Q.
  template <class Between>
  __device__ __forceinline__ void multiply_q(Scores& scores, const T* k_tile,
                                             const Between& between) const {
    const auto* const k = reinterpret_cast<const unsigned char*>(k_tile);
#pragma unroll
    for (int i = 0; i < V::kRowTiles * V::kKeyTiles * 4; ++i) {
      scores.s[i / 4 / V::kKeyTiles][i / 4 % V::kKeyTiles][i % 4] = 0.0f;
    }
    constexpr int kPairs = V::kKeyTiles / 2, kLoads = kSteps * kPairs;
    mg::u32 of_q[2][V::kRowTiles][4], of_k[kAhead + 1][4];
    if constexpr (!V::kQInRegisters) load_q(0, of_q[0]);
#pragma unroll
    for (int n = 0; n < kAhead; ++n) {
      mg::ldmatrix_x4(of_k[n], k + down_.offset(n % kPairs * 16, n / kPairs));
    }
#pragma unroll
    for (int n = 0; n < kLoads; ++n) {
      const int step = n / kPairs, pair = n % kPairs, next = n + kAhead;
      if (next < kLoads) {
        mg::ldmatrix_x4(of_k[next % (kAhead + 1)],
                        k + down_.offset(next % kPairs * 16, next / kPairs));
      }
      if (!V::kQInRegisters && pair == 0 && step + 1 < kSteps) {
        load_q(step + 1, of_q[(step + 1) % 2]);
      }
#pragma unroll
      for (int i = 0; i < V::kRowTiles; ++i) {
        const mg::u32* const a = V::kQInRegisters ? q_registers_[step][i] : of_q[step % 2][i];
        mg::mma_m16n8<T, 16>(scores.s[i][2 * pair], a, of_k[n % (kAhead + 1)]);
        mg::mma_m16n8<T, 16>(scores.s[i][2 * pair + 1], a, of_k[n % (kAhead + 1)] + 2);
      }
      if (pair == kPairs - 1) between(step);
    }
  }

  // Logits of base 2 where capped; -inf where a row (counted from `row0` for this warp's first)
  // does not see a key (from `key0`).
  __device__ __forceinline__ void cap(Scores& scores, const Scaling& scaling) const {
    if constexpr (V::kCapped) {
      const float inner = 2.0f * kLog2E * scaling.scale / scaling.softcap;
      const float outer = scaling.softcap * kLog2E;
      each(scores, [&](float& s, int, int, int) {  // tanh(x) = 1 - 2 / (exp(2 x) + 1)
        s = outer - 2.0f * outer * mg::reciprocal_approx(mg::exp2_approx(s * inner) + 1.0f);
      });
    }
  }

  __device__ __forceinline__ void mask(Scores& scores, int row0, int key0, int diagonal, int window,
                                       int keys) const {
    each(scores, [&](float& s, int i, int j, int c) {
      const int own = row0 + 16 * i + c / 2 * 8 + static_cast<int>(lane_ / 4u) + diagonal;
      const int key = key0 + 8 * j + 2 * static_cast<int>(lane_ % 4u) + c % 2;
      int last = keys - 1;
      if constexpr (V::kCausal) last = least(last, own);
      if constexpr (V::kWindowed && !V::kCausal) last = least(last, own + window);
      if (key > last || (V::kWindowed && key < own - window)) s = -mg::infinity();
    });
  }

  // The first part of a softmax: row maxima, and O and sums follow them.
  __device__ __forceinline__ void follow_maximum(const Scores& scores) {
    float maximum[V::kRowTiles][2];
    bool rises = false;
#pragma unroll
    for (int i = 0; i < V::kRowTiles; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float x = scores.s[i][0][2 * r];
#pragma unroll
        for (int j = 0; j < V::kKeyTiles; ++j) {
          x = fmaxf(x, fmaxf(scores.s[i][j][2 * r], scores.s[i][j][2 * r + 1]));
        }
        maximum[i][r] = mg::quad_max(x);
        rises |= maximum[i][r] * factor_ > max_[i][r] * factor_ + kSeldomBits;
      }
    }
    if (V::kSeldom && !__any_sync(0xffffffffu, rises)) return;
#pragma unroll
    for (int i = 0; i < V::kRowTiles; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float before = max_[i][r];
        max_[i][r] = fmaxf(before, maximum[i][r]);
        const float shrink = mg::exp2_approx(before * factor_ - base(i, r));
#pragma unroll
        for (int j = 0; j < V::kDimTiles; ++j) {
          o_[i][j][2 * r] *= shrink;
          o_[i][j][2 * r + 1] *= shrink;
        }
        sum_[i][2 * r] *= shrink;
        if constexpr (V::kLse) unrounded_sum_[i][r] *= shrink;
      }
    }
  }

  struct Probabilities {
    mg::u32 p[V::kRowTiles][V::kKeyTiles / 2][4];
  };

  // The second part, for 16 keys: p = exp(s - maximum), and their sum.
  __device__ __forceinline__ void exponentiate(const Scores& scores, int step,
                                               Probabilities& probabilities) {
#pragma unroll
    for (int i = 0; i < V::kRowTiles; ++i) {
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        const int r = word % 2;
        const float* const s = scores.s[i][2 * step + word / 2] + 2 * r;
        const float exact[2] = {mg::exp2_approx(s[0] * factor_ - base(i, r)),
                                mg::exp2_approx(s[1] * factor_ - base(i, r))};
        const mg::u32 p = mg::pack<T>(exact[0], exact[1]);
        if constexpr (V::kLse) unrounded_sum_[i][r] += exact[0] + exact[1];
        probabilities.p[i][step][word] = p;
        if constexpr (!V::kSumByMma) {
          float rounded[2];
          mg::unpack<T>(p, rounded);
          sum_[i][2 * r] += rounded[0] + rounded[1];
        }
      }
    }
  }

  // O += P V.
  __device__ __forceinline__ void multiply_v(const Probabilities& probabilities, const T* v_tile) {
    const auto* const v = reinterpret_cast<const unsigned char*>(v_tile);
    constexpr int kPairs = V::kDimTiles / 2, kLoads = V::kKeyTiles / 2 * kPairs;
    const mg::u32 ones = mg::pack<T>(1.0f, 1.0f);
    const mg::u32 of_ones[2] = {ones, ones};
    mg::u32 of_v[kAhead + 1][4];
#pragma unroll
    for (int n = 0; n < kAhead; ++n) {
      mg::ldmatrix_x4_transposed(of_v[n], v + across_.offset(n / kPairs * 16, n % kPairs));
    }
#pragma unroll
    for (int n = 0; n < kLoads; ++n) {
      const int step = n / kPairs, pair = n % kPairs, next = n + kAhead;
      if (next < kLoads) {
        mg::ldmatrix_x4_transposed(of_v[next % (kAhead + 1)],
                                   v + across_.offset(next / kPairs * 16, next % kPairs));
      }
#pragma unroll
      for (int i = 0; i < V::kRowTiles; ++i) {
        const mg::u32* const p = probabilities.p[i][step];
        if (V::kSumByMma && pair == 0) mg::mma_m16n8<T, 16>(sum_[i], p, of_ones);
        mg::mma_m16n8<T, 16>(o_[i][2 * pair], p, of_v[n % (kAhead + 1)]);
        mg::mma_m16n8<T, 16>(o_[i][2 * pair + 1], p, of_v[n % (kAhead + 1)] + 2);
      }
    }
  }

  // O and lse of rows [row0, ...) of the sequence, through this warp's rows of Q's place.
  __device__ __forceinline__ void write(const Sequence<T>& at, int row0) {
    __syncwarp();  // its lanes have read Q
#pragma unroll
    for (int i = 0; i < V::kRowTiles; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = 16 * i + 8 * r + static_cast<int>(lane_ / 4u);
        const float sum = V::kSumByMma ? sum_[i][2 * r] : mg::quad_sum(sum_[i][2 * r]);
        const float share = sum > 0.0f || sum != sum ? 1.0f / sum : 0.0f;
        if constexpr (V::kLse) {
          const float logarithm =
              max_[i][r] * factor_ * kLn2 + logf(mg::quad_sum(unrounded_sum_[i][r]));
          if (lane_ % 4u == 0 && row0 + row < at.rows) {
            at.lse[row0 + row] = sum == 0.0f ? -mg::infinity() : logarithm;
          }
        }
#pragma unroll
        for (int j = 0; j < V::kDimTiles; ++j) {
          const mg::u32 two = mg::pack<T>(o_[i][j][2 * r] * share, o_[i][j][2 * r + 1] * share);
          memcpy(
              q_ + mg::swizzled<V::kRowBytes>(static_cast<mg::u32>(row), static_cast<mg::u32>(j)) +
                  lane_ % 4u * 4u,
              &two, sizeof(two));
        }
      }
    }
    __syncwarp();
#pragma unroll
    for (int start = 0; start < V::kWarpRows * V::kDimTiles; start += 32) {
      const int row = (start + static_cast<int>(lane_)) / V::kDimTiles;
      const int piece = (start + static_cast<int>(lane_)) % V::kDimTiles;
      if (row0 + row >= at.rows) continue;
      const auto* const from = reinterpret_cast<const T*>(
          q_ + mg::swizzled<V::kRowBytes>(static_cast<mg::u32>(row), static_cast<mg::u32>(piece)));
      mg::store<8>(at.o + (row0 + row) * at.o_stride + piece * 8, mg::load<8>(from));
    }
  }

 private:
  static constexpr int kSteps = V::kHeadDim / 16;
  static constexpr int kAhead = 2;  // loads of K or V that are on their way during a product

  __device__ __forceinline__ void load_q(int step, mg::u32 (&of_q)[V::kRowTiles][4]) const {
#pragma unroll
    for (int i = 0; i < V::kRowTiles; ++i) {
      mg::ldmatrix_x4(of_q[i], q_ + across_.offset(16 * i, step));
    }
  }

  // What exponents are relative to. Rows that have seen no key have no maximum: -inf - -inf is no
  // exponent.
  __device__ __forceinline__ float base(int i, int r) const {
    return max_[i][r] == -mg::infinity() ? 0.0f : max_[i][r] * factor_;
  }

  template <class Visit>
  __device__ __forceinline__ void each(Scores& scores, const Visit& visit) const {
#pragma unroll
    for (int i = 0; i < V::kRowTiles; ++i) {
#pragma unroll
      for (int j = 0; j < V::kKeyTiles; ++j) {
#pragma unroll
        for (int c = 0; c < 4; ++c) visit(scores.s[i][j][c], i, j, c);
      }
    }
  }

  mg::u32 lane_;
  int first_row_;
  mg::SwizzledLane<V::kRowBytes> across_, down_;
  unsigned char* q_;  // this warp's rows
  float factor_;      // from scores to exponents of 2
  mg::u32 q_registers_[V::kQInRegisters ? kSteps : 1][V::kRowTiles][4];
  float o_[V::kRowTiles][V::kDimTiles][4];
  float max_[V::kRowTiles][2];  // that o_ and sum_ are relative to
  float sum_[V::kRowTiles][4];  // of row r in 2 * r: of this lane's keys, or of all by mma
  float unrounded_sum_[V::kRowTiles][2];  // for lse
};

// The keys that rows of a block see, in tiles; tile 0 is the last one.
template <class V>
struct Tiles {
  int first_row, diagonal, first_tile, count;

  template <class T>
  __device__ __forceinline__ Tiles(const Sequence<T>& at, int first_row, int window)
      : first_row(first_row), diagonal(at.keys - at.rows) {
    const int last_own = least(first_row + V::kRows, at.rows) - 1 + diagonal;
    int end = at.keys, begin = 0;
    if constexpr (V::kCausal) end = least(end, last_own + 1);
    if constexpr (V::kWindowed && !V::kCausal) end = least(end, last_own + window + 1);
    if constexpr (V::kWindowed) begin = most(0, first_row + diagonal - window);
    first_tile = begin / V::kKeys;
    count = end <= begin ? 0 : (end + V::kKeys - 1) / V::kKeys - first_tile;
  }

  __device__ __forceinline__ int key(int tile) const {
    return (first_tile + count - 1 - tile) * V::kKeys;
  }
};

// One block's work: rows [first_row, first_row + BLOCK_M) of a sequence.
template <class V>
__device__ __forceinline__ void attend(const Sequence<typename V::T>& at, int first_row,
                                       const Scaling& scaling) {
  using T = typename V::T;
  constexpr int kTile = V::kKeys * V::kHeadDim, kStages = V::kStages;
  T* const q_tile = mg::dynamic_shared<T>();
  T* const k_tiles = q_tile + V::kRows * V::kHeadDim;
  T* const v_tiles = k_tiles + kStages * kTile;

  const Tiles<V> tiles(at, first_row, scaling.window);
  typename V::Copies copies;
  const TileCopier<V> k(at.k, at.k_stride), v(at.v, at.v_stride);
  // Only tile 0 may have rows behind the end. Tiles that there are not are not loaded.
  const auto load_first = [&](const TileCopier<V>& matrix, T* to) {
    matrix.template copy<V::kKeys, true>(copies, to, tiles.key(0), at.keys);
  };
  const auto load = [&](const TileCopier<V>& matrix, int tile, T* to) {
    if (tile < tiles.count) {
      matrix.template copy<V::kKeys, false>(copies, to, tiles.key(tile), at.keys);
    }
  };
  const auto k_slot = [&](int slot) { return k_tiles + slot * kTile; };
  const auto v_slot = [&](int slot) { return v_tiles + slot * kTile; };

  WarpRows<V> rows(scaling, q_tile);
  const int row0 = first_row + rows.first_row();
  // Of this warp's rows: those of the first and of the last are the bounds of what all or any see.
  const int first_own = row0 + tiles.diagonal;
  const int last_own = least(row0 + V::kWarpRows, at.rows) - 1 + tiles.diagonal;
  typename WarpRows<V>::Scores scores;
  typename WarpRows<V>::Probabilities probabilities;
  const auto nothing = [](int) {};

  const auto sees = [&](int tile) {
    const int key = tiles.key(tile);
    if (row0 >= at.rows) return false;
    if (V::kCausal && key > last_own) return false;
    if (V::kWindowed && !V::kCausal && key > last_own + scaling.window) return false;
    return !V::kWindowed || key + V::kKeys > first_own - scaling.window;
  };
  const auto cap_and_mask = [&](int tile) {
    rows.cap(scores, scaling);
    const int key = tiles.key(tile), last = key + V::kKeys - 1;
    bool hides = last >= at.keys;
    if constexpr (V::kCausal) hides |= last > first_own;
    if constexpr (V::kWindowed && !V::kCausal) hides |= last > first_own + scaling.window;
    if constexpr (V::kWindowed) hides |= key < last_own - scaling.window;
    if (hides) rows.mask(scores, row0, key, tiles.diagonal, scaling.window, at.keys);
  };
  const auto exponentiate = [&] {
#pragma unroll
    for (int step = 0; step < V::kKeys / 16; ++step) {
      rows.exponentiate(scores, step, probabilities);
    }
  };
  const auto softmax = [&](int tile) {
    cap_and_mask(tile);
    rows.follow_maximum(scores);
    exponentiate();
  };

  if (tiles.count > 0) {
    TileCopier<V>(at.q, at.q_stride)
        .template copy<V::kRows, true>(copies, q_tile, first_row, at.rows);
    load_first(k, k_slot(V::kOverlap ? kStages - 1 : 0));
    if (!V::kOverlap && kStages > 1) load_first(v, v_slot(0));
    copies.end_group();
  }
  if (tiles.count == 0) {
    // Nothing to see.
  } else if constexpr (kStages == 1) {
    if constexpr (V::kQInRegisters) {
      copies.template wait<0>();
      __syncthreads();
      rows.load_q();
    }
    for (int tile = 0; tile < tiles.count; ++tile) {
      copies.template wait<0>();
      __syncthreads();  // K is there, V's place is free
      if (tile == 0) {
        load_first(v, v_tiles);
      } else {
        load(v, tile, v_tiles);
      }
      copies.end_group();
      const bool is_seen = sees(tile);
      if (is_seen) rows.multiply_q(scores, k_tiles, nothing);
      copies.template wait<0>();
      __syncthreads();  // V is there, K's place is free
      load(k, tile + 1, k_tiles);
      copies.end_group();
      if (!is_seen) continue;
      softmax(tile);
      rows.multiply_v(probabilities, v_tiles);
    }
  } else if constexpr (!V::kOverlap) {
#pragma unroll
    for (int tile = 1; tile < kStages - 1; ++tile) {
      load(k, tile, k_slot(tile));
      load(v, tile, v_slot(tile));
      copies.end_group();
    }
    if constexpr (V::kQInRegisters) {
      copies.template wait<kStages - 2>();
      __syncthreads();
      rows.load_q();
    }
    int slot = 0;
    for (int tile = 0; tile < tiles.count; ++tile) {
      copies.template wait<kStages - 2>();
      __syncthreads();  // this tile is there, and the place of the one before is free
      const int free_slot = slot == 0 ? kStages - 1 : slot - 1;
      load(k, tile + kStages - 1, k_slot(free_slot));
      load(v, tile + kStages - 1, v_slot(free_slot));
      copies.end_group();
      if (sees(tile)) {
        rows.multiply_q(scores, k_slot(slot), nothing);
        softmax(tile);
        rows.multiply_v(probabilities, v_slot(slot));
      }
      slot = slot == kStages - 1 ? 0 : slot + 1;
    }
  } else {
    // A slot holds V of a tile and K of the next one.
    load(k, 1, k_slot(0));
    load_first(v, v_slot(0));
    copies.end_group();
#pragma unroll
    for (int tile = 1; tile < kStages - 1; ++tile) {
      load(k, tile + 1, k_slot(tile));
      load(v, tile, v_slot(tile));
      copies.end_group();
    }
    copies.template wait<kStages - 1>();
    __syncthreads();
    rows.load_q();
    rows.multiply_q(scores, k_slot(kStages - 1), nothing);
    int slot = 0;
    for (int tile = 0; tile < tiles.count - 1; ++tile) {
      copies.template wait<kStages - 2>();
      __syncthreads();
      const int free_slot = slot == 0 ? kStages - 1 : slot - 1;
      load(k, tile + kStages, k_slot(free_slot));
      load(v, tile + kStages - 1, v_slot(free_slot));
      copies.end_group();
      cap_and_mask(tile);
      rows.follow_maximum(scores);
      typename WarpRows<V>::Scores next;
      constexpr int kProducts = V::kHeadDim / 16, kExponents = V::kKeys / 16;
      rows.multiply_q(next, k_slot(slot), [&](int step) {
#pragma unroll
        for (int e = step * kExponents / kProducts; e < (step + 1) * kExponents / kProducts; ++e) {
          rows.exponentiate(scores, e, probabilities);
        }
      });
      rows.multiply_v(probabilities, v_slot(slot));
      scores = next;
      slot = slot == kStages - 1 ? 0 : slot + 1;
    }
    copies.template wait<0>();
    __syncthreads();
    softmax(tiles.count - 1);
    rows.multiply_v(probabilities, v_slot(slot));
  }
  rows.write(at, row0);
}

// Which rows of which head (times batch) a block has: in groups of HEADS_AT_ONCE heads, the blocks
// with the last rows, which see the most keys where causal, first.
struct Place {
  int head, first_row;
};

template <int BLOCK_M, int HEADS_AT_ONCE>
__device__ __forceinline__ Place place_of_block(int rows, int heads) {
  const int row_blocks = (rows + BLOCK_M - 1) / BLOCK_M;
  const int block = static_cast<int>(blockIdx.x);
  const int first_head = block / (row_blocks * HEADS_AT_ONCE) * HEADS_AT_ONCE;
  const int group = least(HEADS_AT_ONCE, heads - first_head);
  const int place = block - first_head * row_blocks;
  return {first_head + place % group, (row_blocks - 1 - place / group) * BLOCK_M};
}

template <class T, int HEAD_DIM, int BLOCK_M, int BLOCK_N, int WARPS, int STAGES, bool Q_IN_REGS,
          bool OVERLAP, ROW_SUM SUM, RESCALE SCALING, int BLOCKS_PER_SM, int HEADS_AT_ONCE,
          bool CAUSAL, bool WINDOWED, bool CAPPED, bool LSE>
__global__ void __launch_bounds__(32 * WARPS, BLOCKS_PER_SM)
    attention_prefill(const T* q, const T* k, const T* v, T* o, float* lse, float scale,
                      float softcap, int batch, int seq_q, int seq_k, int heads, int kv_heads,
                      int window, mg::i64 q_sb, mg::i64 q_ss, mg::i64 q_sh, mg::i64 k_sb,
                      mg::i64 k_ss, mg::i64 k_sh, mg::i64 v_sb, mg::i64 v_ss, mg::i64 v_sh,
                      mg::i64 o_sb, mg::i64 o_ss, mg::i64 o_sh) {
  using V = Variant<T, HEAD_DIM, BLOCK_M, BLOCK_N, WARPS, STAGES, Q_IN_REGS, OVERLAP, SUM, SCALING,
                    CAUSAL, WINDOWED, CAPPED, LSE>;
  const Place place = place_of_block<BLOCK_M, HEADS_AT_ONCE>(seq_q, batch * heads);
  const int b = place.head / heads, head = place.head % heads;
  const int kv_head = head / (heads / kv_heads);
  attend<V>(
      {q + b * q_sb + head * q_sh, k + b * k_sb + kv_head * k_sh, v + b * v_sb + kv_head * v_sh,
       o + b * o_sb + head * o_sh, LSE ? lse + mg::i64{place.head} * seq_q : nullptr, q_ss, k_ss,
       v_ss, o_ss, seq_q, seq_k},
      place.first_row, {scale, softcap, window});
}

// Sequence s has rows [q_starts[s], q_starts[s + 1]) of q and o, and likewise of k and v. The grid
// is one for sequences of max_q rows each: blocks beyond the end of theirs have nothing to do.
template <class T, int HEAD_DIM, int BLOCK_M, int BLOCK_N, int WARPS, int STAGES, bool Q_IN_REGS,
          bool OVERLAP, ROW_SUM SUM, RESCALE SCALING, int BLOCKS_PER_SM, int HEADS_AT_ONCE,
          bool CAUSAL, bool WINDOWED, bool CAPPED, bool LSE>
__global__ void __launch_bounds__(32 * WARPS, BLOCKS_PER_SM)
    attention_varlen(const T* q, const T* k, const T* v, const int* q_starts, const int* k_starts,
                     T* o, float* lse, float scale, float softcap, int sequences, int tokens_q,
                     int max_q, int heads, int kv_heads, int window, mg::i64 q_ss, mg::i64 q_sh,
                     mg::i64 k_ss, mg::i64 k_sh, mg::i64 v_ss, mg::i64 v_sh, mg::i64 o_ss,
                     mg::i64 o_sh) {
  using V = Variant<T, HEAD_DIM, BLOCK_M, BLOCK_N, WARPS, STAGES, Q_IN_REGS, OVERLAP, SUM, SCALING,
                    CAUSAL, WINDOWED, CAPPED, LSE>;
  const Place place = place_of_block<BLOCK_M, HEADS_AT_ONCE>(max_q, sequences * heads);
  const int s = place.head / heads, head = place.head % heads;
  const int kv_head = head / (heads / kv_heads);
  const int q_start = q_starts[s], k_start = k_starts[s];
  const int rows = q_starts[s + 1] - q_start, keys = k_starts[s + 1] - k_start;
  if (place.first_row >= rows) return;
  attend<V>({q + q_start * q_ss + head * q_sh, k + k_start * k_ss + kv_head * k_sh,
             v + k_start * v_ss + kv_head * v_sh, o + q_start * o_ss + head * o_sh,
             LSE ? lse + mg::i64{head} * tokens_q + q_start : nullptr, q_ss, k_ss, v_ss, o_ss, rows,
             keys},
            place.first_row, {scale, softcap, window});
}

// The rows of attention that a warp owns, computed with mma.sync. A warp has 16 rows or a small
// multiple of 16. Q, the softmax and O are in its registers. K and V are read from swizzled shared
// memory, one tile of keys after the other.
//
//   mg::AttentionRows<V> rows(scaling, q);       q: this warp's rows of Q in shared memory
//   rows.load_q();                               when Q has arrived; needed with kQInRegisters
//   for each tile of keys, in any order:
//     rows.multiply_q(scores, k_tile, nothing);  scores = Q K^T
//     rows.cap(scores, scaling);                 does nothing without V::kCapped
//     rows.mask(scores, own, key0, keys, window);   if some row of the tile does not see some key
//     rows.follow_maximum(scores);               O and the sums follow a new maximum of a row
//     rows.exponentiate(scores, step, p);        p = exp(s - maximum), 16 keys per step
//     rows.multiply_v(p, v_tile);                O += P V
//   rows.o(i, j, r), rows.sum(i, r), ...         the results at the end
//
// V has these constants: T (half or bfloat16); kRowTiles tiles of 16 rows, kKeyTiles of 8 keys;
// kHeadDim columns of Q and K, whose rows have kRowBytes; kDimTiles tiles of 8 columns of V and O,
// whose rows have kValueRowBytes; kQInRegisters; kSumByMma (the sums of P are products with ones);
// kLazyRescale (O is rescaled only when exponentials would otherwise exceed 2^8); kCausal,
// kWindowed, kCapped; kLse (keeps a second sum, of P before it is rounded). Q and the tiles lie in
// shared memory as <mg/swizzle.cuh> describes. All lanes of a warp call every function together.
// Numerics: products are exact, sums are fp32, P is rounded to T. A row that saw no key has a sum
// of 0.

#pragma once

#include <mg/ldmatrix.cuh>
#include <mg/math.cuh>
#include <mg/mma.cuh>
#include <mg/swizzle.cuh>
#include <mg/types.cuh>

namespace mg {

inline constexpr float kLog2E = 1.4426950408889634f, kLn2 = 0.69314718055994531f;
inline constexpr float kLazyRescaleBits = 8.0f;  // log2 of the rise that kLazyRescale ignores

__device__ __forceinline__ int minimum(int a, int b) { return a < b ? a : b; }
__device__ __forceinline__ int maximum(int a, int b) { return a > b ? a : b; }

struct AttentionScaling {
  float scale, softcap;
  int window;
};

// Returns 1 / sum for a row that saw a key, and 0 for a row that saw none.
__device__ __forceinline__ float share_of(float sum) {
  return sum > 0.0f || sum != sum ? 1.0f / sum : 0.0f;
}

template <class V>
class AttentionRows {
 public:
  using T = typename V::T;

  __device__ __forceinline__ AttentionRows(const AttentionScaling& scaling, T* q)
      : lane_(threadIdx.x % 32u),
        // ldmatrix takes one address from each lane. For Q and V, one half of the lanes gives the
        // addresses of the left pieces and the other half those of the right pieces. For K the
        // halves are the upper and the lower rows.
        of_q_(lane_ % 16u, lane_ / 16u),
        of_k_(lane_ / 16u * 8u + lane_ % 8u, lane_ / 8u % 2u),
        of_v_(lane_ % 16u, lane_ / 16u),
        q_(reinterpret_cast<const unsigned char*>(q)),
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
      max_[i][0] = max_[i][1] = -infinity();
      unrounded_sum_[i][0] = unrounded_sum_[i][1] = 0.0f;
    }
  }

  // Loads Q if it stays in registers. Q must have arrived in shared memory.
  __device__ __forceinline__ void load_q() {
    if constexpr (V::kQInRegisters) {
#pragma unroll
      for (int step = 0; step < kSteps; ++step) load_q(step, q_registers_[step]);
    }
  }

  struct Scores {
    float s[V::kRowTiles][V::kKeyTiles][4];
  };

  // Computes s = Q K^T. Calls between(step) after the products of each 16 columns of Q.
  template <class Between>
  __device__ __forceinline__ void multiply_q(Scores& scores, const T* k_tile,
                                             const Between& between) const {
    const auto* const k = reinterpret_cast<const unsigned char*>(k_tile);
#pragma unroll
    for (int i = 0; i < V::kRowTiles * V::kKeyTiles * 4; ++i) {
      scores.s[i / 4 / V::kKeyTiles][i / 4 % V::kKeyTiles][i % 4] = 0.0f;
    }
    constexpr int kPairs = V::kKeyTiles / 2, kLoads = kSteps * kPairs;
    u32 of_q[2][V::kRowTiles][4], of_k[kAhead + 1][4];
    if constexpr (!V::kQInRegisters) load_q(0, of_q[0]);
#pragma unroll
    for (int n = 0; n < kAhead; ++n) {
      ldmatrix_x4(of_k[n], k + of_k_.offset(n % kPairs * 16, n / kPairs));
    }
#pragma unroll
    for (int n = 0; n < kLoads; ++n) {
      const int step = n / kPairs, pair = n % kPairs, next = n + kAhead;
      if (next < kLoads) {
        ldmatrix_x4(of_k[next % (kAhead + 1)], k + of_k_.offset(next % kPairs * 16, next / kPairs));
      }
      if (!V::kQInRegisters && pair == 0 && step + 1 < kSteps) {
        load_q(step + 1, of_q[(step + 1) % 2]);
      }
#pragma unroll
      for (int i = 0; i < V::kRowTiles; ++i) {
        const u32* const a = V::kQInRegisters ? q_registers_[step][i] : of_q[step % 2][i];
        mma_m16n8<T, 16>(scores.s[i][2 * pair], a, of_k[n % (kAhead + 1)]);
        mma_m16n8<T, 16>(scores.s[i][2 * pair + 1], a, of_k[n % (kAhead + 1)] + 2);
      }
      if (pair == kPairs - 1) between(step);
    }
  }

  // Applies the softcap. The capped logits are exponents of 2.
  __device__ __forceinline__ void cap(Scores& scores, const AttentionScaling& scaling) const {
    if constexpr (V::kCapped) {
      const float inner = 2.0f * kLog2E * scaling.scale / scaling.softcap;
      const float outer = scaling.softcap * kLog2E;
      each(scores, [&](float& s, int, int, int) {  // tanh(x) = 1 - 2 / (exp(2 x) + 1)
        s = outer - 2.0f * outer * reciprocal_approx(exp2_approx(s * inner) + 1.0f);
      });
    }
  }

  // Sets a score to -inf if its row does not see its key. The sequence has `keys` keys, the tile
  // begins at key `key0`, and own(row) is the key at the position of the row's query.
  template <class Own>
  __device__ __forceinline__ void mask(Scores& scores, const Own& own, int key0, int keys,
                                       int window) const {
    each(scores, [&](float& s, int i, int j, int c) {
      const int own_key = own(row(i, c / 2));
      const int key = key0 + 8 * j + 2 * static_cast<int>(lane_ % 4u) + c % 2;
      int last = keys - 1;
      if constexpr (V::kCausal) last = minimum(last, own_key);
      if constexpr (V::kWindowed && !V::kCausal) last = minimum(last, own_key + window);
      if (key > last || (V::kWindowed && key < own_key - window)) s = -infinity();
    });
  }

  // The first part of a softmax: finds the maximum of each row, and rescales O and the sums if a
  // maximum has risen.
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
        maximum[i][r] = quad_max(x);
        rises |= maximum[i][r] * factor_ > max_[i][r] * factor_ + kLazyRescaleBits;
      }
    }
    if (V::kLazyRescale && !__any_sync(0xffffffffu, rises)) return;
#pragma unroll
    for (int i = 0; i < V::kRowTiles; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float before = max_[i][r];
        max_[i][r] = fmaxf(before, maximum[i][r]);
        const float shrink = exp2_approx(before * factor_ - base(i, r));
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
    u32 p[V::kRowTiles][V::kKeyTiles / 2][4];
  };

  // The second part of a softmax, for 16 keys: p = exp(s - maximum). Adds p to the row sums.
  __device__ __forceinline__ void exponentiate(const Scores& scores, int step,
                                               Probabilities& probabilities) {
#pragma unroll
    for (int i = 0; i < V::kRowTiles; ++i) {
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        const int r = word % 2;
        const float* const s = scores.s[i][2 * step + word / 2] + 2 * r;
        const float exact[2] = {exp2_approx(s[0] * factor_ - base(i, r)),
                                exp2_approx(s[1] * factor_ - base(i, r))};
        const u32 p = pack<T>(exact[0], exact[1]);
        if constexpr (V::kLse) unrounded_sum_[i][r] += exact[0] + exact[1];
        probabilities.p[i][step][word] = p;
        if constexpr (!V::kSumByMma) {
          float rounded[2];
          unpack<T>(p, rounded);
          sum_[i][2 * r] += rounded[0] + rounded[1];
        }
      }
    }
  }

  // Computes O += P V.
  __device__ __forceinline__ void multiply_v(const Probabilities& probabilities, const T* v_tile) {
    const auto* const v = reinterpret_cast<const unsigned char*>(v_tile);
    constexpr int kPairs = V::kDimTiles / 2, kLoads = V::kKeyTiles / 2 * kPairs;
    const u32 ones = pack<T>(1.0f, 1.0f);
    const u32 of_ones[2] = {ones, ones};
    u32 of_v[kAhead + 1][4];
#pragma unroll
    for (int n = 0; n < kAhead; ++n) {
      ldmatrix_x4_transposed(of_v[n], v + of_v_.offset(n / kPairs * 16, n % kPairs));
    }
#pragma unroll
    for (int n = 0; n < kLoads; ++n) {
      const int step = n / kPairs, pair = n % kPairs, next = n + kAhead;
      if (next < kLoads) {
        ldmatrix_x4_transposed(of_v[next % (kAhead + 1)],
                               v + of_v_.offset(next / kPairs * 16, next % kPairs));
      }
#pragma unroll
      for (int i = 0; i < V::kRowTiles; ++i) {
        const u32* const p = probabilities.p[i][step];
        if (V::kSumByMma && pair == 0) mma_m16n8<T, 16>(sum_[i], p, of_ones);
        mma_m16n8<T, 16>(o_[i][2 * pair], p, of_v[n % (kAhead + 1)]);
        mma_m16n8<T, 16>(o_[i][2 * pair + 1], p, of_v[n % (kAhead + 1)] + 2);
      }
    }
  }

  // The results. This lane has rows row(i, r) with r < 2. o(i, j, r)[c] is column
  // 8 * j + 2 * (lane % 4) + c of such a row; the caller divides it by sum(i, r).
  // The exponentials of a row are 2^(logit - log2_base(i, r)). sum() adds them as they were rounded
  // for O, unrounded_sum() adds them before rounding. Whole warps call these two.
  __device__ __forceinline__ int row(int i, int r) const {
    return 16 * i + 8 * r + static_cast<int>(lane_ / 4u);
  }
  __device__ __forceinline__ const float* o(int i, int j, int r) const { return o_[i][j] + 2 * r; }
  __device__ __forceinline__ float log2_base(int i, int r) const { return max_[i][r] * factor_; }
  __device__ __forceinline__ float sum(int i, int r) const {
    return V::kSumByMma ? sum_[i][2 * r] : quad_sum(sum_[i][2 * r]);
  }
  __device__ __forceinline__ float unrounded_sum(int i, int r) const {
    return quad_sum(unrounded_sum_[i][r]);
  }

 private:
  static constexpr int kSteps = V::kHeadDim / 16;
  static constexpr int kAhead = 2;  // loads of K or V that are in flight during a product

  __device__ __forceinline__ void load_q(int step, u32 (&of_q)[V::kRowTiles][4]) const {
#pragma unroll
    for (int i = 0; i < V::kRowTiles; ++i) {
      ldmatrix_x4(of_q[i], q_ + of_q_.offset(16 * i, step));
    }
  }

  // The number that exponents are relative to. A row that has seen no key has the maximum -inf, and
  // its base is 0, because -inf - -inf would be NaN.
  __device__ __forceinline__ float base(int i, int r) const {
    return max_[i][r] == -infinity() ? 0.0f : max_[i][r] * factor_;
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

  u32 lane_;
  SwizzledLane<V::kRowBytes> of_q_, of_k_;
  SwizzledLane<V::kValueRowBytes> of_v_;
  const unsigned char* q_;
  float factor_;  // turns scores into exponents of 2
  u32 q_registers_[V::kQInRegisters ? kSteps : 1][V::kRowTiles][4];
  float o_[V::kRowTiles][V::kDimTiles][4];
  float max_[V::kRowTiles][2];  // o_ and sum_ are relative to it
  float sum_[V::kRowTiles][4];  // row r is in 2 * r: over this lane's keys, or over all by mma
  float unrounded_sum_[V::kRowTiles][2];  // for lse
};

}  // namespace mg

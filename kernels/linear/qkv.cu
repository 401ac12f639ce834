// linear.qkv: the projections to q, k and v for 1 to 8 sequences with one new token each, with the
// norm before them, the rotary embedding and the append to the caches.
//
//   s[r, o] = sum over i of norm(x)[r, i] * w[o, i] + bias[o]      the norms are those of decode.cu
//
// The rows of w are heads * head_dim rows for q, then kv_heads * head_dim for k, then as many for
// v. With p = positions[r], and a pair of elements (a, b) of a head of q or k:
//
//   (a, b) becomes (a * cos - b * sin, a * sin + b * cos)   with (cos, sin) = table[p, i]
//   q[r, head] = s,   k_cache[r, p, head] = s,   v_cache[r, p, head] = s
//
// rotary_halves: element i is paired with i + head_dim / 2 (Hugging Face), rotary_pairs: 2 i with
// 2 i + 1 (llama2.c), for i from 0 to head_dim / 2 - 1.
// A position that the caches have no room for (below 0, or capacity or more) appends nothing, and q
// is rotated as at position 0.
//
// The plain version: a warp computes both elements of a pair as in decode.cu, and its first lane
// rotates and writes them.
//
// Algorithm  That of decode.cu. An output of the stream is a pair, so it reads two rows of w, and
//            the lane that has both sums rotates them. Positions and the table are read while the
//            weights are on their way.
// Traffic    sizeof(T) * in * (heads + 2 * kv_heads) * head_dim bytes of weights. All else is
//            small.
// Work       2 * rows flops per weight, as in decode.cu; the rotation is nothing beside them.
// Tunables   Those of decode.cu. ROWS_PER_WARP counts pairs.
// Numerics   Sums and the rotation are fp32, in a fixed order, and every result is rounded once.

#include <mg/cache_hint.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

#include "input_rows.cuh"
#include "row_stream.cuh"

using CACHE = mg::Cache;

// Pair `i` of a head is its elements i * kNext and i * kNext + kApart.
template <int kHeadDim, bool kPairs>
struct HeadPairs {
  static constexpr int kCount = kHeadDim / 2;
  static constexpr int kNext = kPairs ? 2 : 1, kApart = kPairs ? 1 : kHeadDim / 2;
};

template <class T, class P>
struct QkvWeights {
  const T* first;
  mg::i64 stride;
  int outputs, columns;
  mg::i64 row_step;

  __device__ __forceinline__ const T* first_row(int set, int pair) const {
    const int head = pair / P::kCount, i = pair % P::kCount;
    return first + (mg::i64{head} * 2 * P::kCount + i * P::kNext + set * P::kApart) * stride;
  }
};

template <class C>
struct Caches {
  C *k, *v;
  mg::i64 sequence, position, head;  // strides
};

template <class T, class C, class P, bool kRotary, bool kHasBias>
class QkvEpilogue {
 public:
  struct Kept {
    float bias[2], cosine, sine;
  };

  // `row` is the row of x for which the calling thread finishes outputs.
  __device__ __forceinline__ QkvEpilogue(int row, int rows, const T* bias, const float* table,
                                         const int* positions, C* q, const Caches<C>& caches,
                                         int heads, int kv_heads, int capacity, mg::i64 q_stride)
      : bias_(bias),
        table_(table),
        q_(q),
        caches_(caches),
        heads_(heads),
        kv_heads_(kv_heads),
        q_stride_(q_stride) {
    position_ = row < rows ? positions[row] : 0;
    fits_ = position_ >= 0 && position_ < capacity;
    if (!fits_) position_ = 0;
  }

  __device__ __forceinline__ Kept begin(int, int pair) const {
    const int head = pair / P::kCount, i = pair % P::kCount;
    Kept kept{};
    if constexpr (kHasBias) {
      const T* const first = bias_ + head * 2 * P::kCount + i * P::kNext;
      kept.bias[0] = mg::to_float(first[0]);
      kept.bias[1] = mg::to_float(first[P::kApart]);
    }
    if constexpr (kRotary) {
      const float* const turn = table_ + (mg::i64{position_} * P::kCount + i) * 2;
      const bool turns = head < heads_ + kv_heads_;
      kept.cosine = turns ? turn[0] : 1.0f;
      kept.sine = turns ? turn[1] : 0.0f;
    }
    return kept;
  }

  __device__ __forceinline__ void finish(const Kept& kept, int row, int pair,
                                         const float (&sums)[2]) const {
    float a = sums[0] + kept.bias[0], b = sums[1] + kept.bias[1];
    if constexpr (kRotary) {
      const float turned = a * kept.cosine - b * kept.sine;
      b = a * kept.sine + b * kept.cosine;
      a = turned;
    }
    const int head = pair / P::kCount, i = pair % P::kCount;
    C* to = q_ + row * q_stride_ + mg::i64{head} * 2 * P::kCount;
    if (head >= heads_) {
      if (!fits_) return;
      const int of_kv = head - heads_, is_v = of_kv >= kv_heads_ ? 1 : 0;
      to = (is_v ? caches_.v : caches_.k) + row * caches_.sequence + position_ * caches_.position +
           (of_kv - is_v * kv_heads_) * caches_.head;
    }
    to += i * P::kNext;
    to[0] = mg::from_float<C>(a);
    to[P::kApart] = mg::from_float<C>(b);
  }

 private:
  const T* bias_;
  const float* table_;
  C* q_;
  const Caches<C> caches_;
  int heads_, kv_heads_, position_;
  bool fits_;
  mg::i64 q_stride_;
};

// The tensors and sizes of a launch.
template <class T, class X, class C>
struct QkvArguments {
  const X* x;
  const T *norm_weight, *norm_bias, *w, *bias;
  const float* table;
  const int* positions;
  C* q;
  Caches<C> caches;
  float eps;
  int in, heads, kv_heads, capacity;
  mg::i64 x_stride, w_stride, q_stride;
};

template <class Input, class Stream, class P, bool kPdl, bool kRotary, bool kHasBias, class T,
          class X, class C>
__device__ __forceinline__ void compute_qkv(const QkvArguments<T, X, C>& in) {
  static_assert(P::kCount % Stream::kOutputs == 0, "the pairs of a turn belong to one head");
  if constexpr (kPdl && !Stream::kLetsNextStart) mg::let_next_grid_start();
  const QkvWeights<T, P> weights{in.w, in.w_stride, (in.heads + 2 * in.kv_heads) * P::kCount, in.in,
                                 P::kNext * in.w_stride};
  RowStream<Stream, QkvWeights<T, P>> stream(weights, behind_input<Input>(in.in));
  if constexpr (kPdl) mg::wait_for_previous_grid();
  const QkvEpilogue<T, C, P, kRotary, kHasBias> epilogue(
      stream.own_row(), Stream::kRows, in.bias, in.table, in.positions, in.q, in.caches, in.heads,
      in.kv_heads, in.capacity, in.q_stride);
  InputRows<Input> input({in.x, in.norm_weight, in.norm_bias, in.in, in.x_stride, in.eps});
  input.prepare();
  stream.run(input, epilogue);
}

template <class T, class X, class C, int kRows, int kHeadDim, int kThreads, int kRowsPerWarp,
          int kVec, int kUnroll, int kSplit, int kBlocksPerSm, INPUT kInput, CACHE kCache,
          bool kPdl, bool kRmsNorm, bool kLayerNorm, bool kHalves, bool kPairs, bool kHasNormBias,
          bool kHasBias>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    linear_qkv(const X* x, const T* norm_weight, const T* norm_bias, const T* w, const T* bias,
               const float* table, const int* positions, C* q, C* k_cache, C* v_cache, float eps,
               int in, int heads, int kv_heads, int capacity, mg::i64 x_stride, mg::i64 w_stride,
               mg::i64 q_stride, mg::i64 cache_sb, mg::i64 cache_ss, mg::i64 cache_sh) {
  using Input = InputShape<X, T, kRows, kVec, kThreads, norm_of<kRmsNorm, kLayerNorm>(),
                           kHasNormBias, kInput>;
  using Stream = StreamShape<T, kRows, 2, kThreads, kRowsPerWarp, kVec, kUnroll, kSplit, kCache>;
  compute_qkv<Input, Stream, HeadPairs<kHeadDim, kPairs>, kPdl, kHalves || kPairs, kHasBias>(
      QkvArguments<T, X, C>{x,
                            norm_weight,
                            norm_bias,
                            w,
                            bias,
                            table,
                            positions,
                            q,
                            {k_cache, v_cache, cache_sb, cache_ss, cache_sh},
                            eps,
                            in,
                            heads,
                            kv_heads,
                            capacity,
                            x_stride,
                            w_stride,
                            q_stride});
}

template <class T, class X, class C, int kRows, int kHeadDim, int kThreads, int kRowsPerWarp,
          int kStages, int kPieces, int kSplit, int kBlocksPerSm, INPUT kInput, COPY kCopy,
          TRIGGER kTrigger, bool kPdl, bool kRmsNorm, bool kLayerNorm, bool kHalves, bool kPairs,
          bool kHasNormBias, bool kHasBias>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    linear_qkv_ring(const X* x, const T* norm_weight, const T* norm_bias, const T* w, const T* bias,
                    const float* table, const int* positions, C* q, C* k_cache, C* v_cache,
                    float eps, int in, int heads, int kv_heads, int capacity, mg::i64 x_stride,
                    mg::i64 w_stride, mg::i64 q_stride, mg::i64 cache_sb, mg::i64 cache_ss,
                    mg::i64 cache_sh) {
  constexpr int kVec = 16 / static_cast<int>(sizeof(T));
  using Input = InputShape<X, T, kRows, kVec, kThreads, norm_of<kRmsNorm, kLayerNorm>(),
                           kHasNormBias, kInput>;
  using Stream =
      StreamShape<T, kRows, 2, kThreads, kRowsPerWarp, kVec, kStages, kSplit, CACHE::normal,
                  kCopy == COPY::bulk ? Held::bulk_ring : Held::ring, kPieces, kTrigger, kPdl>;
  compute_qkv<Input, Stream, HeadPairs<kHeadDim, kPairs>, kPdl, kHalves || kPairs, kHasBias>(
      QkvArguments<T, X, C>{x,
                            norm_weight,
                            norm_bias,
                            w,
                            bias,
                            table,
                            positions,
                            q,
                            {k_cache, v_cache, cache_sb, cache_ss, cache_sh},
                            eps,
                            in,
                            heads,
                            kv_heads,
                            capacity,
                            x_stride,
                            w_stride,
                            q_stride});
}

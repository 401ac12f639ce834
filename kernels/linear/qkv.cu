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
// Work       2 * rows flops per weight, as in decode.cu. The rotation takes hardly any time.
// Tunables   Those of decode.cu. ROWS_PER_WARP counts pairs.
// Numerics   Sums and the rotation are fp32, in a fixed order, and every result is rounded once.

#include <mg/cache_hint.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/types.cuh>

#include "input_rows.cuh"
#include "qkv_epilogue.cuh"
#include "row_stream.cuh"

using CACHE = mg::Cache;

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

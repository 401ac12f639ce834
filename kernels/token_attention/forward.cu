// token_attention.forward: attention of one new token of each sequence over the keys in its cache,
// for the dtypes and head sizes that attention.decode does not serve.
//
//   o[r, h] = sum over j of softmax(scale * q[r, h] . k[r, j, g])_j * v[r, j, g],
//   g = h / (heads / kv_heads), j from begin to lengths[r] - 1,
//   begin = window == 0 ? 0 : max(0, lengths[r] - window)
//
// A sequence without keys gives zeros. Nothing past the length of a sequence is read.
//
// The plain version is this kernel with one thread per row and head, and one key at a time.
//
// Algorithm  A block computes one head of one row, in chunks of keys: see chunks.cuh.
// Traffic    reads the caches of the keys that are seen, once per query head (from L2 after the
//            first of a group), and q once. Writes o.
// Work       4 * heads * head_dim flops per key. One block per head and row leaves most of a large
//            GPU idle: attention.decode splits the keys, this kernel does not.
// Tunables   THREADS    More threads have more loads in flight. More are idle in the last chunk.
//            VEC        The elements of a load of k.
//            PDL        The grid starts while the previous grid ends.
// Numerics   fp32. The order of all sums is fixed, and o is rounded once.

#include <mg/convert.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/types.cuh>

#include "chunks.cuh"

template <class T, int kHeadDim, int kThreads, int kVec, bool kPdl>
__global__ void __launch_bounds__(kThreads)
    token_attention_forward(const T* q, const T* keys, const T* values, const int* lengths, T* o,
                            float scale, int heads, int kv_heads, int capacity, int window) {
  if constexpr (kPdl) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  const int thread = static_cast<int>(threadIdx.x), head = static_cast<int>(blockIdx.x);
  const mg::i64 row = blockIdx.y, stride = mg::i64{kv_heads} * kHeadDim;
  const mg::i64 first_element = row * capacity * stride + head / (heads / kv_heads) * kHeadDim;
  const mg::i64 of_head = (row * heads + head) * kHeadDim;
  const KeyRange seen = visible_keys(lengths[row], capacity, window);
  const HeadSums sums =
      attend<T, kHeadDim, kThreads, kVec>(q + of_head, keys + first_element, values + first_element,
                                          scale, stride, seen.begin, seen.end);
  if (thread >= kHeadDim) return;
  o[of_head + thread] = mg::from_float<T>(seen.end > seen.begin ? sums.output / sums.sum : 0.0f);
}

// token_attention.partial: attention of one new token of each sequence over each of `splits` parts
// of the keys in its cache. token_attention.reduce joins the parts.
//
//   o[r, h, s] = sum over j of softmax(scale * q[r, h] . k[r, j, g])_j * v[r, j, g],
//   statistics[r, h, s] = log of the sum over j of exp(scale * q[r, h] . k[r, j, g]),
//   g = h / (heads / kv_heads), j in part s of the n keys that the row sees,
//   part s = [begin + s * ceil(n / splits), begin + (s + 1) * ceil(n / splits)), cut at lengths[r],
//   begin = window == 0 ? 0 : max(0, lengths[r] - window)
//
// A part without keys gives zeros and -Inf. Nothing past the length of a sequence is read.
//
// The plain version is this kernel with one thread per row, head and part, and one key at a time.
//
// Algorithm  A block computes one part of one head of one row, in chunks of keys: see chunks.cuh.
// Traffic    reads the caches of the keys that are seen, once per query head (from L2 after the
//            first of a group), and q once per part. Writes the parts of o in fp32.
// Work       4 * heads * head_dim flops per key
// Tunables   THREADS    More threads have more loads in flight. More are idle in the last chunk.
//            VEC        The elements of a load of k.
//            PDL        The grid starts while the previous grid ends.
// Numerics   fp32. The order of all sums is fixed.

#include <mg/grid_dependency.cuh>
#include <mg/math.cuh>
#include <mg/types.cuh>

#include "chunks.cuh"

template <class T, int kHeadDim, int kThreads, int kVec, bool kPdl>
__global__ void __launch_bounds__(kThreads)
    token_attention_partial(const T* q, const T* keys, const T* values, const int* lengths,
                            float* o, float* statistics, float scale, int heads, int kv_heads,
                            int capacity, int window) {
  if constexpr (kPdl) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  const int thread = static_cast<int>(threadIdx.x), head = static_cast<int>(blockIdx.x);
  const int splits = static_cast<int>(gridDim.z), split = static_cast<int>(blockIdx.z);
  const mg::i64 row = blockIdx.y, stride = mg::i64{kv_heads} * kHeadDim;
  const mg::i64 first_element = row * capacity * stride + head / (heads / kv_heads) * kHeadDim;
  const mg::i64 of_head = row * heads + head, of_part = of_head * splits + split;
  const KeyRange seen = visible_keys(lengths[row], capacity, window);
  const int count = seen.end > seen.begin ? seen.end - seen.begin : 0;
  const int part = (count + splits - 1) / splits;
  const int before = split * part < count ? split * part : count;
  const int until = before + part < count ? before + part : count;
  const HeadSums sums = attend<T, kHeadDim, kThreads, kVec>(
      q + of_head * kHeadDim, keys + first_element, values + first_element, scale, stride,
      seen.begin + before, seen.begin + until);
  const bool is_empty = until == before;
  if (thread == 0) {
    statistics[of_part] = is_empty ? -mg::infinity() : sums.largest + logf(sums.sum);
  }
  if (thread >= kHeadDim) return;
  o[of_part * kHeadDim + thread] = is_empty ? 0.0f : sums.output / sums.sum;
}

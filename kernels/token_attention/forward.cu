// token_attention.forward: attention of one new token of each sequence over the keys in its cache,
// for the dtypes and head sizes that attention.decode does not serve.
//
//   o[r, h] = sum over j of softmax(scale * q[r, h] . k[r, j, g])_j * v[r, j, g],
//   g = h / (heads / kv_heads), j from begin to lengths[r] - 1,
//   begin = window == 0 ? 0 : max(0, lengths[r] - window)
//
// A sequence without keys has zeros. Nothing of a cache behind its length is read.
//
// The plain version is this kernel with one thread per row and head, and one key at a time.
//
// Algorithm  A block computes one head of one row. It takes the keys in chunks of as many keys as
// it
//            has threads. Each thread computes the logit of one key. Then each thread adds up one
//            column of v, over every kGroups-th key of the chunk. If a chunk has a larger logit
//            than all before it, the sums so far are scaled down.
// Traffic    reads the caches of the keys that are seen, once per query head (from L2 after the
//            first of a group), and q once. Writes o.
// Work       4 * heads * head_dim flops per key. One block per head and row leaves most of a large
//            GPU idle: attention.decode splits the keys, this kernel does not.
// Tunables   THREADS    More threads have more loads in flight. The last chunk has more idle ones.
//            VEC        The elements of a load of k.
//            PDL        The grid starts while the grid before it ends.
// Numerics   fp32. The order of all sums is fixed, and o is rounded once.

#include <mg/convert.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/math.cuh>
#include <mg/reduce.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

// The largest value of a block, in all its threads. The block has no barrier behind its last read
// of `scratch`.
template <int kThreads>
__device__ __forceinline__ float largest_in_block(float value, float* scratch) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  value = scratch[0];
#pragma unroll
  for (int i = 1; i < kThreads / 32; ++i) value = fmaxf(value, scratch[i]);
  return value;
}

__host__ __device__ constexpr int lanes_of(int head_dim) {
  int lanes = 1;
  while (lanes < head_dim) lanes *= 2;
  return lanes;
}

template <class T, int kHeadDim, int kThreads, int kVec, bool kPdl>
__global__ void __launch_bounds__(kThreads)
    token_attention_forward(const T* q, const T* keys, const T* values, const int* lengths, T* o,
                            float scale, int heads, int kv_heads, int capacity, int window) {
  if constexpr (kPdl) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  constexpr int kLanes = lanes_of(kHeadDim), kGroups = kThreads / kLanes;
  static_assert(kLanes <= kThreads, "a thread has one column");
  MG_SHARED(float, query, [kHeadDim]);
  MG_SHARED(float, weights, [kThreads]);
  MG_SHARED(float, largest_scratch, [kThreads / 32]);
  MG_SHARED(float, sum_scratch, [kThreads / 32]);
  MG_SHARED(float, outputs, [kThreads]);
  const int thread = static_cast<int>(threadIdx.x), head = static_cast<int>(blockIdx.x);
  const int column = thread % kLanes, group = thread / kLanes;
  const mg::i64 row = blockIdx.y, stride = mg::i64{kv_heads} * kHeadDim;
  const mg::i64 first_element = row * capacity * stride + head / (heads / kv_heads) * kHeadDim;
  const T* const k = keys + first_element;
  const T* const v = values + first_element;

  const int length = lengths[row], end = length < capacity ? length : capacity;
  const int begin = window != 0 && end > window ? end - window : 0;
  const mg::i64 of_head = (row * heads + head) * kHeadDim;
  for (int i = thread; i < kHeadDim; i += kThreads) query[i] = mg::to_float(q[of_head + i]) * scale;
  __syncthreads();

  float largest = -mg::infinity(), sum = 0.0f, output = 0.0f;
  for (int first = begin; first < end; first += kThreads) {
    const int key = first + thread, count = end - first < kThreads ? end - first : kThreads;
    float logit = -mg::infinity();
    if (key < end) {
      logit = 0.0f;
#pragma unroll 4
      for (int i = 0; i < kHeadDim; i += kVec) {
        float part[kVec];
        mg::to_floats(mg::load<kVec>(k + key * stride + i), part);
#pragma unroll
        for (int j = 0; j < kVec; ++j) logit += query[i + j] * part[j];
      }
    }
    const float before = largest;
    largest = fmaxf(largest, largest_in_block<kThreads>(logit, largest_scratch));
    const float weight = key < end ? expf(logit - largest) : 0.0f;
    weights[thread] = weight;
    const float shrink = first == begin ? 0.0f : expf(before - largest);
    // The barrier inside also publishes the weights.
    sum = sum * shrink + mg::sum<kThreads>(weight, sum_scratch);
    output *= shrink;
    if (column < kHeadDim) {
      for (int j = group; j < count; j += kGroups) {
        output += weights[j] * mg::to_float(v[(first + j) * stride + column]);
      }
    }
    __syncthreads();
  }
  outputs[thread] = output;
  __syncthreads();
  if (thread >= kHeadDim) return;
#pragma unroll
  for (int i = 1; i < kGroups; ++i) output += outputs[i * kLanes + thread];
  o[of_head + thread] = mg::from_float<T>(end > begin ? output / sum : 0.0f);
}

// The attention of one head of one row over some of its keys, by one block. The operators of this
// folder share it.
//
//   const HeadSums head = attend<T, kHeadDim, kThreads, kVec>(q, k, v, scale, stride, begin, end);
//   if (threadIdx.x < kHeadDim) ... = head.output / head.sum;
//
// Algorithm  The block takes the keys in chunks of as many keys as it has threads. Each thread
//            computes the logit of one key. Then each thread adds up one column of v, over every
//            kGroups-th key of the chunk. If a chunk has a larger logit than all before it, the
//            sums so far are scaled down.
// Numerics   fp32. The order of all sums is fixed.

#pragma once

#include <mg/convert.cuh>
#include <mg/largest.cuh>
#include <mg/math.cuh>
#include <mg/reduce.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

__host__ __device__ constexpr int lanes_of(int head_dim) {
  int lanes = 1;
  while (lanes < head_dim) lanes *= 2;
  return lanes;
}

// The keys of a row that its query sees.
struct KeyRange {
  int begin, end;
};

__device__ __forceinline__ KeyRange visible_keys(int length, int capacity, int window) {
  const int end = length < capacity ? length : capacity;
  return {window != 0 && end > window ? end - window : 0, end};
}

// Without keys all members are zero, except `largest`, which is -Inf.
struct HeadSums {
  float output;   // in thread i < kHeadDim: of exp(logit - largest) * v, column i
  float sum;      // of exp(logit - largest), in all threads
  float largest;  // logit, in all threads
};

// q, k and v begin at the head; k and v at its key 0, with `stride` elements from key to key. Every
// thread of the block calls it, once.
template <class T, int kHeadDim, int kThreads, int kVec>
__device__ __forceinline__ HeadSums attend(const T* q, const T* k, const T* v, float scale,
                                           mg::i64 stride, int begin, int end) {
  constexpr int kLanes = lanes_of(kHeadDim), kGroups = kThreads / kLanes;
  static_assert(kLanes <= kThreads, "a thread has one column");
  MG_SHARED(float, query, [kHeadDim]);
  MG_SHARED(float, weights, [kThreads]);
  MG_SHARED(float, largest_scratch, [kThreads / 32]);
  MG_SHARED(float, sum_scratch, [kThreads / 32]);
  MG_SHARED(float, outputs, [kThreads]);
  const int thread = static_cast<int>(threadIdx.x);
  const int column = thread % kLanes, group = thread / kLanes;
  for (int i = thread; i < kHeadDim; i += kThreads) query[i] = mg::to_float(q[i]) * scale;
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
    largest = fmaxf(largest, mg::largest_of_block<kThreads>(logit, largest_scratch));
    const float weight = key < end ? expf(logit - largest) : 0.0f;
    weights[thread] = weight;
    const float shrink = expf(before - largest);  // 0 in the first chunk
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
  if (thread < kHeadDim) {
#pragma unroll
    for (int i = 1; i < kGroups; ++i) output += outputs[i * kLanes + thread];
  }
  return {output, sum, largest};
}

// RowSum: how design stream adds up the squares of one row after the other, in a block or in a
// cluster.

#pragma once

#include <mg/bulk_copy.cuh>
#include <mg/cluster_sums.cuh>
#include <mg/reduce.cuh>

// The sum over the threads of a row, for one row after the other. Every thread calls send() with
// its part and then receive() for the sum. The class needs kFloats floats of shared memory, and in
// clusters kBarriers barriers. Two areas take turns, so one barrier per row is enough.
template <class S, bool kInCluster = (S::kCluster > 1)>
class RowSum {
 public:
  static constexpr int kFloats = 2 * S::kWarps, kBarriers = 1;

  __device__ __forceinline__ RowSum(float* scratch, mg::CopyBarrier*) : scratch_(scratch) {}

  __device__ __forceinline__ void send(float part) const {
    part = mg::sum_of_lanes<32>(part);
    if (threadIdx.x % 32 == 0) scratch_[turn_ + threadIdx.x / 32] = part;
  }

  __device__ __forceinline__ float receive() {
    __syncthreads();
    const float sum = mg::sum_of_lanes<S::kWarps>(scratch_[turn_ + threadIdx.x % S::kWarps]);
    turn_ = S::kWarps - turn_;
    return sum;
  }

 private:
  float* const scratch_;
  int turn_ = 0;
};

template <class S>
class RowSum<S, true> {
  using Sums = mg::ClusterSums<S::kThreads, S::kCluster, 1>;

 public:
  static constexpr int kFloats = Sums::kFloats, kBarriers = Sums::kBarriers;

  __device__ __forceinline__ RowSum(float* slots, mg::CopyBarrier* arrived)
      : sums_(slots, arrived) {
    sums_.begin();
  }

  __device__ __forceinline__ void send(float part) const {
    const float parts[1] = {mg::sum_of_lanes<32>(part)};
    sums_.send(parts);
  }

  __device__ __forceinline__ float receive() {
    float total[1];
    sums_.receive(total);
    return total[0];
  }

 private:
  Sums sums_;
};

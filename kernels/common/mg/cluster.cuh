// The blocks of one cluster: their ranks, barriers across them, and stores into each other's shared
// memory. Needs compute capability 9.0. On the cpu device a cluster has one block.
//
//   mg::cluster_arrive();                  says that this block runs, so others may store into it
//   ...loads...
//   mg::cluster_wait();                    now every block of the cluster runs
//   mg::store_to_block(&slot, rank, x);    stores a float or float4 into that block's `slot`
//   mg::cluster_arrive(); mg::cluster_wait();    now all blocks see the stores of all blocks
//   mg::arrive_at_block(barrier, rank);    arrives at that block's mg::CopyBarrier
//
// Every arrive needs its wait before the next arrive. All threads of all blocks of the cluster call
// both, whole warps together. A block must not end while others may still store into it; the wait
// after the last stores guarantees this. Clusters are one-dimensional.

#pragma once

#include <mg/bulk_copy.cuh>
#include <mg/reduce.cuh>
#include <mg/types.cuh>

namespace mg {

#if defined(MGTUNE_CPU_DEVICE)

inline u32 cluster_rank() { return 0; }
inline void cluster_arrive() { __syncthreads(); }
inline void cluster_wait() {}

template <class T>
void store_to_block(T* place, u32, T value) {
  *place = value;
}

inline void arrive_at_block(CopyBarrier& barrier, u32) { arrive(barrier); }

#else

__device__ __forceinline__ u32 cluster_rank() {
  u32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Returns the address in the shared memory of block `rank` that `place` has in this block.
__device__ __forceinline__ u32 shared_of_block(const void* place, u32 rank) {
  const u32 here = static_cast<u32>(__cvta_generic_to_shared(place));
  u32 there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
  return there;
}

__device__ __forceinline__ void store_to_block(float* place, u32 rank, float value) {
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(shared_of_block(place, rank)), "f"(value)
               : "memory");
}

__device__ __forceinline__ void store_to_block(float4* place, u32 rank, float4 value) {
  asm volatile(
      "st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(shared_of_block(place, rank)),
      "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w)
      : "memory");
}

// This orders the thread's accesses only as a barrier of its own block would. So it can say that
// shared memory was read, but it does not publish writes. With .release.cluster it would publish
// them, but ptxas then inserts a MEMBAR.GPU, which took a quarter of the time of a matrix product.
__device__ __forceinline__ void arrive_at_block(CopyBarrier& barrier, u32 rank) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(shared_of_block(&barrier, rank))
               : "memory");
}

#endif

// The length of the slots of cluster_sum().
template <int kThreads, int kBlocks>
__host__ __device__ constexpr int cluster_sum_floats() {
  return kThreads / 32 * kBlocks;
}

// Returns the sum of `value` over all kThreads * kBlocks threads of the cluster, in each of them.
// The order of the additions is a fixed tree. `slots` is an array of cluster_sum_floats() in shared
// memory, at the same place in each block. The caller has called cluster_arrive() and not yet
// cluster_wait(): cluster_sum() waits itself. It then uses one more barrier of the cluster. A
// second call needs other slots, or a barrier of the cluster before it.
template <int kThreads, int kBlocks>
__device__ __forceinline__ float cluster_sum(float value, float* slots) {
  static_assert(kThreads % 32 == 0 && kBlocks >= 1 && kBlocks <= 16, "the hardware's clusters");
  constexpr u32 kWarps = kThreads / 32, kSlots = kWarps * kBlocks;
  static_assert((kSlots & (kSlots - 1)) == 0, "the tree halves the slots");
  const u32 warp = threadIdx.x / 32u, lane = threadIdx.x % 32u;
  value = sum_of_lanes<32>(value);
  cluster_wait();
  // Lane i sends the sum of its warp to block i, so the stores of the lanes run side by side.
  if (lane < kBlocks) store_to_block(&slots[cluster_rank() * kWarps + warp], lane, value);
  __syncwarp();
  cluster_arrive();
  cluster_wait();
  if constexpr (kSlots <= 32) {
    return sum_of_lanes<kSlots>(slots[lane % kSlots]);
  } else {
    float sum = slots[lane];
#pragma unroll
    for (u32 i = 32; i < kSlots; i += 32) sum += slots[i + lane];
    return sum_of_lanes<32>(sum);
  }
}

}  // namespace mg

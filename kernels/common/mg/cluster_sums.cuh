// ClusterSums: sums over all threads of a cluster, for one row after the other, without a barrier
// of the cluster.
//
// Each warp sends its part of a sum into the shared memory of every block. A barrier in each block
// counts the bytes that have arrived. A barrier of the cluster would cost more: before it releases
// earlier stores it waits for stores to global memory too, and a kernel that streams its output
// always has such stores in flight.
//
//   mg::ClusterSums<kThreads, kBlocks, kAtOnce> sums(slots, arrived);
//   sums.begin();                 once; it contains a barrier of the cluster
//   sums.send(parts);             sends the warp's parts of kAtOnce sums; all lanes pass the same
//   ...other work...
//   sums.receive(totals);         returns the sums to every thread; then the next send() may follow
//
// All threads of all blocks call each function, whole warps together. The order of the additions is
// a fixed tree: equal parts give equal bits. All blocks receive the same number of sums before they
// end, so nothing is sent to a block that has ended. Needs compute capability 9.0. On the cpu
// device a cluster has one block.

#pragma once

#include <mg/bulk_copy.cuh>
#include <mg/cluster.cuh>
#include <mg/reduce.cuh>
#include <mg/types.cuh>

namespace mg {

#if defined(MGTUNE_CPU_DEVICE)

inline void send_to_block(float* place, u32, float value, CopyBarrier& arrived) {
  *place = value;
  arrived.bytes_missing -= static_cast<i32>(sizeof(float));
  end_phase_when_complete(arrived);
}

#else

// Stores `value` into the shared memory of block `rank`, at the address that `place` has in this
// block. The barrier at the address of `arrived` in that block counts the bytes.
__device__ __forceinline__ void send_to_block(float* place, u32 rank, float value,
                                              CopyBarrier& arrived) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(
                   shared_of_block(place, rank)),
               "f"(value), "r"(shared_of_block(&arrived, rank))
               : "memory");
}

#endif

template <int kThreads, int kBlocks, int kAtOnce>
class ClusterSums {
  static constexpr int kWarps = kThreads / 32, kParts = kWarps * kBlocks;

 public:
  // The slots need kFloats floats of shared memory, and there are kBarriers barriers. The slots are
  // double-buffered: a block sends row n only after it has received row n - 1, so the buffer of row
  // n - 2 is free.
  static constexpr int kFloats = 2 * kParts * kAtOnce, kBarriers = 2;

  static_assert(kThreads % 32 == 0 && kBlocks >= 1 && kBlocks <= 16, "the hardware's clusters");

  __device__ __forceinline__ ClusterSums(float* slots, CopyBarrier* arrived)
      : slots_(slots), arrived_(arrived) {}

  __device__ __forceinline__ void begin() const {
    if (threadIdx.x == 0) {
      for (int area = 0; area < kBarriers; ++area) init(arrived_[area], 1);
      publish_init();
    }
    __syncwarp();
    cluster_arrive();
    cluster_wait();  // Now every block runs and is ready.
  }

  __device__ __forceinline__ void send(const float (&parts)[kAtOnce]) const {
    const u32 warp = threadIdx.x / 32u, lane = threadIdx.x % 32u;
    if (threadIdx.x == 0) arrive_expecting(arrived_[area_], kParts * kAtOnce * sizeof(float));
    if (lane < kBlocks) {
      float* const slot = area() + (cluster_rank() * kWarps + warp) * kAtOnce;
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) send_to_block(slot + i, lane, parts[i], arrived_[area_]);
    }
    __syncwarp();
  }

  // The wait acquires at the scope of the block. This is usual for barriers that other blocks of
  // the cluster complete: the data lies in this block's shared memory, and there is only one copy
  // of it.
  __device__ __forceinline__ void receive(float (&totals)[kAtOnce]) {
    wait(arrived_[area_], phase_);
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      float sum = 0.0f;
#pragma unroll
      for (int part = static_cast<int>(threadIdx.x) % 32; part < kParts; part += 32) {
        sum += area()[part * kAtOnce + i];
      }
      totals[i] = sum_of_lanes<32>(sum);
    }
    area_ ^= 1;
    if (area_ == 0) phase_ ^= 1u;
  }

 private:
  __device__ __forceinline__ float* area() const { return slots_ + area_ * kParts * kAtOnce; }

  float* const slots_;
  CopyBarrier* const arrived_;
  int area_ = 0;
  u32 phase_ = 0;
};

}  // namespace mg

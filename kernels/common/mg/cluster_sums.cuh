// ClusterSums: sums over all threads of a cluster, row after row, without a barrier of the cluster.
//
// Each warp sends its part of a sum into the shared memory of every block, and each block's own
// barrier counts the bytes that have come. A barrier of the cluster would cost more: to release
// what was stored before it, it waits for stores to global memory too, which in a kernel that lives
// from them are always on their way.
//
//   mg::ClusterSums<kThreads, kBlocks, kAtOnce> sums(slots, arrived);
//   sums.begin();                 once; a barrier of the cluster inside
//   sums.tell(parts);             the warps' parts of kAtOnce sums, the same in all lanes of a warp
//   ...other work...
//   sums.take(totals);            the sums, in every thread of every block; then the next tell()
//
// All threads of all blocks call each of them, whole warps together. The order of the additions is
// a fixed tree: equal parts give equal bits. Blocks take and end in step, so that none is sent to
// after it has ended. Compute capability 9.0 and up; on the cpu device a cluster has one block.

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

// Into the shared memory of block `rank`, where `place` lies in this one's, counted by the barrier
// that lies where `arrived` does.
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
  // Shared memory: kFloats of slots, kBarriers of barriers. Two areas take turns: who tells the
  // parts of a row has taken the row before, so nobody still reads those of the row before that.
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
    cluster_wait();  // every block runs and is ready
  }

  __device__ __forceinline__ void tell(const float (&parts)[kAtOnce]) const {
    const u32 warp = threadIdx.x / 32u, lane = threadIdx.x % 32u;
    if (threadIdx.x == 0) arrive_expecting(arrived_[area_], kParts * kAtOnce * sizeof(float));
    if (lane < kBlocks) {
      float* const slot = area() + (cluster_rank() * kWarps + warp) * kAtOnce;
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) send_to_block(slot + i, lane, parts[i], arrived_[area_]);
    }
    __syncwarp();
  }

  // The wait acquires at the scope of the block, as is usual for barriers that other blocks of the
  // cluster complete: what they sent lies in this block's shared memory, of which there is one
  // copy.
  __device__ __forceinline__ void take(float (&totals)[kAtOnce]) {
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

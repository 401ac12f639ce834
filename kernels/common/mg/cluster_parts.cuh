// ClusterParts: blocks of a cluster each have a part of the same sums, in the registers of 128
// threads. They exchange them through shared memory, so that each block has the complete sums of
// its share. Needs compute capability 9.0. On the cpu device a cluster has one block.
//
//   using Parts = mg::ClusterParts<kBlocks, kCount>;   kCount sums per thread
//   MG_SHARED(mg::CopyBarrier, arrived);               initialized with one arrival
//   mg::cluster_arrive(); mg::cluster_wait();          so that all blocks see it, before one sends
//   Parts::exchange(sums, inbox, arrived, own, first, step);
//
// Block i of kBlocks has the rank first + i * step in the cluster, and the caller is block `own`. A
// thread holds the same elements in every block: it gets elements [own * kCount / kBlocks, + kCount
// / kBlocks), from sums[0] on. `inbox` is Parts::kBytes of shared memory, at the same place in each
// block. It is for this exchange alone, so nobody waits until another block has read something. All
// 128 threads of all blocks call it once. A block receives all that is sent to it before it goes
// on, so nothing is sent to a block that has ended.
//
// Traffic    (kBlocks - 1) / kBlocks of the sums leave a block, and as many bytes arrive.
// Numerics   The parts are added in the order of the blocks, in every block. Repeated runs give
//            equal bits.

#pragma once

#include <mg/bulk_copy.cuh>
#include <mg/cluster.cuh>
#include <mg/types.cuh>

namespace mg {

#if defined(MGTUNE_CPU_DEVICE)

inline void send_to_block(float4* place, u32, float4 value, CopyBarrier& arrived) {
  *place = value;
  arrived.bytes_missing -= static_cast<i32>(sizeof(float4));
  end_phase_when_complete(arrived);
}

#else

// Stores `value` into the shared memory of block `rank`, at the address that `place` has in this
// block. The barrier at the address of `arrived` in that block counts the bytes.
__device__ __forceinline__ void send_to_block(float4* place, u32 rank, float4 value,
                                              CopyBarrier& arrived) {
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, "
      "[%5];" ::"r"(shared_of_block(place, rank)),
      "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w), "r"(shared_of_block(&arrived, rank))
      : "memory");
}

#endif

template <int kBlocks, int kCount>
struct ClusterParts {
  static constexpr int kShare = kCount / kBlocks;      // of the sums of a thread
  static constexpr int kPartBytes = 128 * kShare * 4;  // what one block sends another
  static constexpr int kBytes = (kBlocks - 1) * kPartBytes;
  static_assert(kCount % kBlocks == 0 && (kBlocks == 1 || kShare % 4 == 0), "four sums at a time");

  __device__ __forceinline__ static void exchange(float (&sums)[kCount], void* inbox,
                                                  CopyBarrier& arrived, int own, int first,
                                                  int step) {
    const u32 thread = threadIdx.x % 128u;
    float4* const parts = static_cast<float4*>(inbox) + thread;
    if (thread == 0) arrive_expecting(arrived, u32{kBytes});
    float share[kShare];
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      const float* const of_block = sums + block * kShare;
      if (block == own) {
#pragma unroll
        for (int i = 0; i < kShare; ++i) share[i] = of_block[i];
        continue;
      }
      const u32 rank = static_cast<u32>(first + block * step);
      float4* const to = parts + place(own, block);
#pragma unroll
      for (int i = 0; i < kShare; i += 4) {
        const float4 four{of_block[i], of_block[i + 1], of_block[i + 2], of_block[i + 3]};
        send_to_block(to + i / 4 * 128, rank, four, arrived);
      }
    }
    wait(arrived, 0);
#pragma unroll
    for (int i = 0; i < kShare; i += 4) {
      float4 total{share[i], share[i + 1], share[i + 2], share[i + 3]};
      const float4 four = total;
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        const float4 part = block == own ? four : parts[place(block, own) + i / 4 * 128];
        total = block == 0 ? part : sum(total, part);
      }
      sums[i] = total.x;
      sums[i + 1] = total.y;
      sums[i + 2] = total.z;
      sums[i + 3] = total.w;
    }
  }

 private:
  // Where block `to` has the part of block `from`.
  __device__ __forceinline__ static int place(int from, int to) {
    return (from < to ? from : from - 1) * (kPartBytes / 16);
  }
  __device__ __forceinline__ static float4 sum(const float4& a, const float4& b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
  }
};

}  // namespace mg

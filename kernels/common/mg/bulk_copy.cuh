// Copies of large pieces between global and shared memory by the copy engine (TMA without a tensor
// map), and the barrier that says when they have arrived. Needs compute capability 9.0. On the cpu
// device a copy is done at once.
//
//   MG_SHARED(mg::CopyBarrier, arrived);
//   if (threadIdx.x == 0) mg::init(arrived, 1);           one thread will arrive at it
//   mg::publish_init(); __syncthreads();
//   if (threadIdx.x == 0) {
//     mg::arrive_expecting(arrived, bytes);               first the expected bytes, then the copies
//     mg::bulk_load(shared, global, bytes, arrived);      or bulk_load_kept() for mg::Cache::kept
//   }
//   mg::wait(arrived, 0);                                 every thread that reads; the phase of the
//   ...                                                   waits is 0, 1, 0, 1, ...
//
//   mg::publish_to_copies(); __syncthreads();             after threads wrote into shared memory
//   if (threadIdx.x == 0) { mg::bulk_store(global, shared, bytes); mg::commit_stores(); }
//   mg::wait_for_stores_read<0>();                        the thread that committed calls it before
//                                                         shared memory is written again, and
//                                                         before the block ends
//
// Addresses and bytes are multiples of 16. A phase expects less than 2^20 bytes. If threads read
// shared memory and a bulk_load then overwrites it, publish_to_copies() and a barrier must stand in
// between as well.

#pragma once

#include <mg/cache_hint.cuh>
#include <mg/types.cuh>

namespace mg {

#if defined(MGTUNE_CPU_DEVICE)

// The threads of a block take turns on one OS thread, so no atomics are needed.
struct alignas(8) CopyBarrier {
  u32 count, waited_for, phase;
  i32 bytes_missing;
};

inline void end_phase_when_complete(CopyBarrier& barrier) {
  if (barrier.waited_for != 0 || barrier.bytes_missing != 0) return;
  barrier.waited_for = barrier.count;
  barrier.phase ^= 1u;
}

inline void init(CopyBarrier& barrier, u32 count) { barrier = {count, count, 0, 0}; }
inline void publish_init() {}
inline void publish_to_copies() {}

inline void arrive_expecting(CopyBarrier& barrier, u32 bytes) {
  barrier.bytes_missing += static_cast<i32>(bytes);
  --barrier.waited_for;
  end_phase_when_complete(barrier);
}

inline void arrive(CopyBarrier& barrier) { arrive_expecting(barrier, 0); }

inline void wait(CopyBarrier& barrier, u32 phase) {
  while (*static_cast<volatile u32*>(&barrier.phase) == phase) __nanosleep(20);
}

inline void bulk_load(void* shared, const void* global, u32 bytes, CopyBarrier& barrier) {
  memcpy(shared, global, bytes);
  barrier.bytes_missing -= static_cast<i32>(bytes);
  end_phase_when_complete(barrier);
}

inline void bulk_load_kept(void* shared, const void* global, u32 bytes, CopyBarrier& barrier) {
  bulk_load(shared, global, bytes, barrier);
}

inline void bulk_prefetch_to_l2(const void*, u32) {}

inline void bulk_store(void* global, const void* shared, u32 bytes) {
  memcpy(global, shared, bytes);
}
inline void commit_stores() {}
template <int kGroups>
void wait_for_stores_read() {}
template <int kGroups>
void wait_for_stores() {}

#else

struct alignas(8) CopyBarrier {
  u64 state;
};

__device__ __forceinline__ u32 shared_address(const void* place) {
  return static_cast<u32>(__cvta_generic_to_shared(place));
}

__device__ __forceinline__ void init(CopyBarrier& barrier, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(count)
               : "memory");
}

// Makes the barriers that this thread has initialized known to the copy engine.
__device__ __forceinline__ void publish_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Orders this thread's accesses to shared memory before copies that are started after a barrier.
__device__ __forceinline__ void publish_to_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void arrive_expecting(CopyBarrier& barrier, u32 bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)),
      "r"(bytes)
      : "memory");
}

__device__ __forceinline__ void arrive(CopyBarrier& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier))
               : "memory");
}

// Waits until the barrier's phase of this parity is over. Its copies are then visible. In each try
// the hardware suspends the thread for a while.
__device__ __forceinline__ void wait(CopyBarrier& barrier, u32 phase) {
  u32 over;
  do {
    asm volatile(
        "{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, "
        "p;}"
        : "=r"(over)
        : "r"(shared_address(&barrier)), "r"(phase)
        : "memory");
  } while (over == 0);
}

__device__ __forceinline__ void bulk_load(void* shared, const void* global, u32 bytes,
                                          CopyBarrier& barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(shared)),
      "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(shared_address(&barrier))
      : "memory");
}

// Does the same as bulk_load(), and the lines leave L2 last.
__device__ __forceinline__ void bulk_load_kept(void* shared, const void* global, u32 bytes,
                                               CopyBarrier& barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1], %2, [%3], %4;" ::"r"(shared_address(shared)),
      "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(shared_address(&barrier)),
      "l"(policy_to_keep())
      : "memory");
}

// Copies into L2 only. Nobody waits for it. It does not count as a read of memory that another grid
// may be writing.
__device__ __forceinline__ void bulk_prefetch_to_l2(const void* global, u32 bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(global)),
               "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void bulk_store(void* global, const void* shared, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                   __cvta_generic_to_global(global)),
               "r"(shared_address(shared)), "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void commit_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until at most kGroups of this thread's groups still read shared memory.
template <int kGroups>
__device__ __forceinline__ void wait_for_stores_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kGroups) : "memory");
}

// Waits until at most kGroups of this thread's groups are not yet visible in global memory.
template <int kGroups>
__device__ __forceinline__ void wait_for_stores() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kGroups) : "memory");
}

#endif

}  // namespace mg

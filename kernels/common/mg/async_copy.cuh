// Copies of 4, 8 or 16 bytes from global to shared memory that do not pass through registers:
// cp.async. Compute capability 8.0 and up; in C++ on the cpu device.
//
//   mg::AsyncCopies<12> copies;                 a thread's own; 12: the most it has unfinished
//   copies.copy<16>(shared, global);            addresses aligned to as many bytes
//   copies.copy_or_zero<16>(shared, global, is_there);   zeros, and nothing read, where it is not
//   copies.end_group();                         the copies since the last one are a group
//   copies.wait<1>();                           until at most one group is unfinished
//
// After the wait the thread that copied sees what arrived; other threads do after a barrier. Until
// then neither place may be written, nor the shared one be read. A thread that has read a place may
// copy into it again.
// On the cpu device copies arrive as late as the rules allow: at the wait. Before, the place holds
// NaN.

#pragma once

#include <mg/types.cuh>

namespace mg {

#if defined(MGTUNE_CPU_DEVICE)

template <int kMostUnfinished>
class AsyncCopies {
 public:
  template <int kBytes>
  void copy(void* shared, const void* global) {
    static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "what cp.async copies");
    if (count_ == kMostUnfinished) __trap();
    memset(shared, 0xff, kBytes);
    copies_[(first_ + count_++) % kMostUnfinished] = {shared, global, kBytes, groups_};
  }

  template <int kBytes>
  void copy_or_zero(void* shared, const void* global, bool is_there) {
    static constexpr unsigned char kZeros[kBytes] = {};
    copy<kBytes>(shared, is_there ? global : kZeros);
  }

  void end_group() { ++groups_; }

  template <int kGroups>
  void wait() {
    while (count_ > 0 && copies_[first_].group < groups_ - kGroups) {
      const Copy& copy = copies_[first_];
      memcpy(copy.to, copy.from, static_cast<unsigned>(copy.bytes));
      first_ = (first_ + 1) % kMostUnfinished;
      --count_;
    }
  }

 private:
  struct Copy {
    void* to;
    const void* from;
    int bytes, group;
  };
  Copy copies_[kMostUnfinished];  // a ring
  int first_ = 0, count_ = 0, groups_ = 0;
};

#else

template <int kMostUnfinished>
class AsyncCopies {
 public:
  template <int kBytes>
  __device__ __forceinline__ void copy(void* shared, const void* global) {
    static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "what cp.async copies");
    const u32 to = static_cast<u32>(__cvta_generic_to_shared(shared));
    if constexpr (kBytes == 16) {  // .cg passes L1 by; it takes 16 bytes alone
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to),
                   "l"(__cvta_generic_to_global(global))
                   : "memory");
    } else {
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to),
                   "l"(__cvta_generic_to_global(global)), "n"(kBytes)
                   : "memory");
    }
  }

  template <int kBytes>
  __device__ __forceinline__ void copy_or_zero(void* shared, const void* global, bool is_there) {
    static_assert(kBytes == 16, "what kernels have needed so far");
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                     static_cast<u32>(__cvta_generic_to_shared(shared))),
                 "l"(__cvta_generic_to_global(global)), "r"(is_there ? kBytes : 0)
                 : "memory");
  }

  __device__ __forceinline__ void end_group() {
    asm volatile("cp.async.commit_group;" ::: "memory");
  }

  template <int kGroups>
  __device__ __forceinline__ void wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
  }
};

#endif

}  // namespace mg

// Copies of 4, 8 or 16 bytes from global to shared memory that bypass the registers: cp.async.
// Needs compute capability 8.0; on the cpu device the copies are C++.
//
//   mg::AsyncCopies<12> copies;                 each thread has its own; at most 12 are unfinished
//   copies.copy<16>(shared, global);            both addresses are aligned to 16 bytes
//   copies.copy_or_zero<16>(shared, global, is_there);   if not there: writes zeros
//   copies.end_group();                         the copies since the last call are one group
//   copies.wait<1>();                           waits until at most one group is unfinished
//
// After the wait, the thread that copied sees the data. Other threads see the data after a barrier.
// Before that, nobody may write the source, or read or write the destination. A thread that has
// read a place may copy into it again.
// On the cpu device a copy happens as late as the rules allow, at the wait. Until then its
// destination holds NaN.

#pragma once

#include <mg/types.cuh>

namespace mg {

#if defined(MGTUNE_CPU_DEVICE)

template <int kMaxUnfinished>
class AsyncCopies {
 public:
  template <int kBytes>
  void copy(void* shared, const void* global) {
    static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async copies 4, 8 or 16 bytes");
    if (count_ == kMaxUnfinished) __trap();
    memset(shared, 0xff, kBytes);
    copies_[(first_ + count_++) % kMaxUnfinished] = {shared, global, kBytes, groups_};
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
      first_ = (first_ + 1) % kMaxUnfinished;
      --count_;
    }
  }

 private:
  struct Copy {
    void* to;
    const void* from;
    int bytes, group;
  };
  Copy copies_[kMaxUnfinished];  // used as a ring
  int first_ = 0, count_ = 0, groups_ = 0;
};

#else

template <int kMaxUnfinished>
class AsyncCopies {
 public:
  template <int kBytes>
  __device__ __forceinline__ void copy(void* shared, const void* global) {
    static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async copies 4, 8 or 16 bytes");
    const u32 to = static_cast<u32>(__cvta_generic_to_shared(shared));
    if constexpr (kBytes == 16) {  // .cg bypasses L1; it exists for 16 bytes only
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
    static_assert(kBytes == 16, "no kernel has needed others so far");
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

// A ring of tiles in shared memory, between one thread that starts copies (the producer) and the
// warps that read the tiles (the consumers). Each slot has two barriers: `full` completes when its
// tile has arrived, and `empty` when every consumer warp has read it.
//
//   mg::CopyRing<3> ring(full, empty);     each side has its own, over the same barriers; a third
//                                          argument is the number of slots, if it is less than 3
//
//   ring.wait_until_empty();               the producer
//   mg::arrive_expecting(ring.full(), bytes); ...copies into slot ring.slot()...
//   ring.advance();
//
//   ring.wait_until_full();                a consumer: all its threads
//   ...reads slot ring.slot()...
//   ring.release();                        lane 0 of each warp arrives
//   ring.advance();
//
// Both sides pass the slots in the same order. mg::init() gives `full` one arrival, and `empty` one
// for each consumer warp.

#pragma once

#include <mg/bulk_copy.cuh>
#include <mg/types.cuh>

namespace mg {

template <int kSlots>
class CopyRing {
 public:
  __device__ __forceinline__ CopyRing(CopyBarrier* full, CopyBarrier* empty, int slots = kSlots)
      : full_(full), empty_(empty), slots_(slots) {}

  __device__ __forceinline__ int slot() const { return slot_; }
  __device__ __forceinline__ CopyBarrier& full() const { return full_[slot_]; }
  __device__ __forceinline__ CopyBarrier& empty() const { return empty_[slot_]; }
  __device__ __forceinline__ void wait_until_full() const { wait(full_[slot_], phase_); }
  // In the first turn every slot is empty: the phase before a barrier's first one counts as over.
  __device__ __forceinline__ void wait_until_empty() const { wait(empty_[slot_], phase_ ^ 1u); }
  // Every warp calls it when it no longer reads the slot.
  __device__ __forceinline__ void release() const {
    if (threadIdx.x % 32u == 0) arrive(empty_[slot_]);
  }
  __device__ __forceinline__ void advance() {
    slot_ = slot_ == slots_ - 1 ? 0 : slot_ + 1;
    if (slot_ == 0) phase_ ^= 1u;
  }

 private:
  CopyBarrier *full_, *empty_;
  int slots_, slot_ = 0;
  u32 phase_ = 0;
};

}  // namespace mg

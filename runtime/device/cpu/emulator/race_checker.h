// RaceChecker: finds two accesses to one byte of a block's shared memory, by different threads, at
// least one of them a write, that no barrier orders. It names both threads and lines, where
// comparing thread orders only says that something is missing.
//
// Kernels for it (arch "cpu-race") are compiled with -fsanitize=thread, but linked without libtsan:
// the plugin supplies the __tsan_* functions itself (race_hooks.cpp). libtsan would watch OS
// threads where we need the threads of a block, holds 8,128 of them in one process, must be linked
// into the program that loads us, and ends the process instead of reporting to us.
//
// Ordering: a barrier of the block orders all its threads; a __syncwarp those of its warp. Shuffles
// and votes order nothing, as in CUDA. Atomics do not race with atomics. Not found: races through
// global memory; races of which one side is a call of memcpy (clang makes one of each copy of a
// struct, so uint4 accesses are seen with GCC only). A named barrier and a __syncwarp of part of a
// warp count as if the whole block or warp had met. Not understood: order made by fences and flags.
//
// One per worker; not thread-safe.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fault.h"

namespace mgtune {

class RaceChecker {
 public:
  // What to watch from now on; nothing until this is called. Here, not on a fiber, memory is taken.
  void start_block(const unsigned char* arena, std::size_t arena_bytes,
                   const unsigned char* dynamic, std::size_t dynamic_bytes);
  void block_barrier() { ++block_epoch_; }
  void warp_barrier(std::uint32_t warp) { ++warp_epochs_[warp]; }

  struct Access {
    const void* return_address = nullptr;
    std::uint32_t block_epoch = 0, warp_epoch = 0;
    std::uint32_t thread = 0;
    bool atomic = false;
  };
  enum class Kind : std::uint8_t { read, write, atomic_read, atomic_write };

  // Records an access; the race it makes with an earlier one, if it does.
  std::optional<Race> access(const void* address, std::size_t bytes, Kind kind,
                             std::uint32_t thread, const void* return_address) {
    for (Region& region : regions_) {
      const auto offset =
          static_cast<std::size_t>(static_cast<const unsigned char*>(address) - region.begin);
      if (offset < region.bytes) {
        return record(region, offset, bytes, kind,
                      {return_address, block_epoch_, warp_epochs_[thread / 32], thread,
                       kind >= Kind::atomic_read});
      }
    }
    return std::nullopt;
  }

 private:
  // Of the readers of a byte since the last barrier, two suffice to tell whether a writer races
  // with any: two of different warps, or else the last two threads of the one warp.
  struct Byte {
    Access write;
    std::array<Access, 2> reads;
  };
  struct Region {
    const unsigned char* begin = nullptr;
    std::size_t bytes = 0;
    std::vector<Byte> shadow;
  };

  std::optional<Race> record(Region& region, std::size_t offset, std::size_t bytes, Kind kind,
                             const Access& access);
  bool races(const Access& earlier, const Access& later) const;
  void remember_read(Byte& byte, const Access& access) const;

  std::array<Region, 2> regions_;
  std::uint32_t block_epoch_ = 0;
  std::array<std::uint32_t, 32> warp_epochs_{};
};

}  // namespace mgtune

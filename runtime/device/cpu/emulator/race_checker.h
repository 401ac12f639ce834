// RaceChecker: finds two accesses to one byte of a block's shared memory by different threads, at
// least one of them a write, that no barrier orders. It names both threads and lines. Comparing the
// results of several thread orders would only show that a barrier is missing somewhere.
//
// Kernels for it (arch "cpu-race") are compiled with -fsanitize=thread but linked without libtsan.
// The plugin defines the __tsan_* functions itself (race_hooks.cpp). libtsan is not suitable: it
// watches OS threads, but we need the threads of a block; it allows only 8,128 threads in a
// process; it must be linked into the program that loads us; and it ends the process instead of
// reporting to us.
//
// Ordering: a barrier of the block orders all its threads, and a __syncwarp orders those of its
// warp. Shuffles and votes order nothing, as in CUDA. Atomics do not race with atomics. The checker
// does not find races through global memory, or races of which one side is a call of memcpy (clang
// makes a memcpy of each copy of a struct, so uint4 accesses are seen with GCC only). A named
// barrier, and a __syncwarp of a part of a warp, count as if the whole block or warp took part. The
// checker does not understand order that is made by fences and flags.
//
// There is one per worker. Not thread-safe.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fault.h"

namespace mgtune {

class RaceChecker {
 public:
  // Sets the memory to watch. Nothing is watched before the first call. It allocates memory here,
  // because a fiber must not.
  void start_block(std::span<const unsigned char> arena, std::span<const unsigned char> dynamic);
  void block_barrier() { ++block_epoch_; }
  void warp_barrier(std::uint32_t warp) { ++warp_epochs_[warp]; }

  struct Access {
    const void* return_address = nullptr;
    std::uint32_t block_epoch = 0, warp_epoch = 0;
    std::uint32_t thread = 0;
    bool atomic = false;
  };
  enum class Kind : std::uint8_t { read, write, atomic_read, atomic_write };

  // Records an access. Returns the race that it makes with an earlier access, if any.
  std::optional<Race> access(const void* address, std::size_t bytes, Kind kind,
                             std::uint32_t thread, const void* return_address) {
    for (Region& region : regions_) {
      const auto offset = static_cast<std::size_t>(static_cast<const unsigned char*>(address) -
                                                   region.memory.data());
      if (offset < region.memory.size()) {
        return record(region, offset, bytes, kind,
                      {return_address, block_epoch_, warp_epochs_[thread / 32], thread,
                       kind >= Kind::atomic_read});
      }
    }
    return std::nullopt;
  }

 private:
  // Two readers of a byte since the last barrier are enough to tell whether a writer races with any
  // reader: two of different warps, or else the last two threads of the one warp.
  struct Byte {
    Access write;
    std::array<Access, 2> reads;
  };
  struct Region {
    std::span<const unsigned char> memory;
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

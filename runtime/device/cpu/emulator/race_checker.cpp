#include "race_checker.h"

#include <algorithm>
#include <utility>

namespace mgtune {

void RaceChecker::start_block(std::span<const unsigned char> arena,
                              std::span<const unsigned char> dynamic) {
  regions_[0].memory = arena;
  regions_[1].memory = dynamic;
  for (Region& region : regions_) {
    region.shadow.resize(std::max(region.shadow.size(), region.memory.size()));
  }
  ++block_epoch_;  // so all accesses in the shadow are older
}

bool RaceChecker::races(const Access& earlier, const Access& later) const {
  if (earlier.block_epoch != later.block_epoch || earlier.thread == later.thread) return false;
  if (earlier.atomic && later.atomic) return false;
  return earlier.thread / 32 != later.thread / 32 || earlier.warp_epoch == later.warp_epoch;
}

void RaceChecker::remember_read(Byte& byte, const Access& access) const {
  auto& [last, other] = byte.reads;
  const bool stale = last.block_epoch != block_epoch_;
  if (stale || last.thread == access.thread) {
    if (stale) other = Access();
    last = access;
    return;
  }
  const bool other_is_stale = other.block_epoch != block_epoch_;
  const std::uint32_t warp = access.thread / 32;
  if (other_is_stale || last.thread / 32 == other.thread / 32 || other.thread / 32 == warp) {
    if (last.thread / 32 == warp || other_is_stale) {
      other = std::exchange(last, access);
    } else {
      other = access;  // `last` stays, because it is of another warp
    }
  } else if (last.thread / 32 == warp) {
    last = access;
  }
}

std::optional<Race> RaceChecker::record(Region& region, std::size_t offset, std::size_t bytes,
                                        Kind kind, const Access& access) {
  const bool writes = kind == Kind::write || kind == Kind::atomic_write;
  const std::size_t end = std::min(region.memory.size(), offset + bytes);
  for (std::size_t i = offset; i < end; ++i) {
    Byte& byte = region.shadow[i];
    const Access* earlier = races(byte.write, access) ? &byte.write : nullptr;
    bool earlier_wrote = earlier != nullptr;
    if (writes && earlier == nullptr) {
      for (const Access& read : byte.reads) {
        if (races(read, access)) earlier = &read;
      }
    }
    if (earlier != nullptr) {
      return Race{earlier->thread,
                  earlier->return_address,
                  access.return_address,
                  earlier_wrote,
                  writes,
                  earlier->thread / 32 == access.thread / 32};
    }
    if (writes) {
      byte.write = access;
    } else {
      remember_read(byte, access);
    }
  }
  return std::nullopt;
}

}  // namespace mgtune

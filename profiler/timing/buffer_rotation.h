// BufferRotation: how many buffer sets the timing of a problem rotates through, so that no launch
// finds its data in the L2 cache. The sets together have three times the size of the L2, and there
// are at least two.

#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"
#include "device/device.h"

namespace mgtune {

struct BufferRotation {
  std::int64_t sets = 1;
  std::string note;  // "" or why the sets do not hold three times the L2
};

// `set_bytes`: the bytes of all tensors of the problem. Uses at most 90 % of `free_bytes`.
BufferRotation plan_buffer_rotation(std::int64_t set_bytes, std::int64_t l2_bytes,
                                    std::int64_t free_bytes);

// The same for the current state of a device. One set on the cpu device, whose times do not depend
// on a cache.
Result<BufferRotation> plan_buffer_rotation(Device& device, std::int64_t set_bytes);

// The sets of tensors for timing a problem, besides the one that is allocated for its check and has
// guard bands. There are none if two sets do not fit, so that a workspace still fits. Methods that
// do not rotate use one set.
struct TimedBuffers {
  std::int64_t own_sets = 0;  // 0: timed on the set of the check
  std::string note;           // the note of the rotation, or why the sets have guard bands
};
TimedBuffers timed_buffers(const BufferRotation& rotation, bool turns_through_sets);

}  // namespace mgtune

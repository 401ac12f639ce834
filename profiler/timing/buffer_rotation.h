// BufferRotation: how many buffer sets a problem's timing turns through, so that no launch finds
// its data in the L2 cache: as many as hold three times the L2 together, and at least two.

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

// `set_bytes`: of all tensors of the problem. Takes at most 90 % of `free_bytes`.
BufferRotation plan_buffer_rotation(std::int64_t set_bytes, std::int64_t l2_bytes,
                                    std::int64_t free_bytes);

// For a device as it is now. One set on the cpu device: its times are not a memory's.
Result<BufferRotation> plan_buffer_rotation(Device& device, std::int64_t set_bytes);

// The sets of tensors that a problem is timed on besides one that is allocated for its check, and
// lies between guard bands. None where two do not fit, so that a workspace finds room; methods
// whose calls do not turn through sets take one.
struct TimedBuffers {
  std::int64_t own_sets = 0;  // 0: timed on the check's
  std::string note;           // the rotation's, or why they lie between guard bands
};
TimedBuffers timed_buffers(const BufferRotation& rotation, bool turns_through_sets);

}  // namespace mgtune

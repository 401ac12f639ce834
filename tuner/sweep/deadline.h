// How long a sweep waits for its workers before it takes them to hang. Pure functions.

#pragma once

#include <chrono>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"

namespace mgtune {

// A light kernel compiles in 0.1 s, a heavy one in some seconds, on a busy machine several times
// that. More than the two minutes after which the host compiler gives up itself, and ends all that
// it started.
inline constexpr std::chrono::seconds kCompileDeadline{150};

// For one variant of any of `problems`, the references of the first one included: 20 s (30 s on the
// cpu device) and as long as checking, or on the cpu device emulating, the largest takes. At most a
// day. It is for the first variant of a problem: after that worker/variant_deadline.h knows better.
Result<std::chrono::milliseconds> measure_deadline(DeviceKind device,
                                                   const std::vector<Problem>& problems);

}  // namespace mgtune

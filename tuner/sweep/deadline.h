// How long a sweep waits for its workers before it takes them to hang. Pure functions.

#pragma once

#include <chrono>

#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"

namespace mgtune {

// A light kernel compiles in 0.1 s, a heavy one in some seconds, on a busy machine several times
// that. More than the two minutes after which the host compiler gives up itself, and ends all that
// it started.
inline constexpr std::chrono::seconds kCompileDeadline{150};

// For one variant of the problem, its references included: 20 s (30 s on the cpu device), and the
// time that checking takes, or on the cpu device emulating. At most a day. It is for the first
// variant of a problem: after that measure/variant_deadline.h has a better estimate.
Result<std::chrono::milliseconds> measure_deadline(DeviceKind device, const Problem& problem);

}  // namespace mgtune

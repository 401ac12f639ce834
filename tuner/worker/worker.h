// The child's side: the loops behind the hidden subcommands `mgtune worker measure DEVICE METHOD
// [REASON]`, `mgtune worker count DEVICE` and `mgtune worker compile TARGET` (`worker method` is
// timing_method_probe.h's). They read requests from standard input until it closes and answer on
// standard output; none returns a failure of a single variant as its own. A measure worker first
// shows that its GPU is well (health_check.h), before it answers anything.

#pragma once

#include <string>

#include "core/status.h"
#include "device/device.h"
#include "timing/timer.h"

namespace mgtune {

Status run_measure_worker(const std::string& device_id, const TimingMethod& method);
Status run_count_worker(const std::string& device_id);
Status run_compile_worker(DeviceInfo device);  // that it compiles for

}  // namespace mgtune

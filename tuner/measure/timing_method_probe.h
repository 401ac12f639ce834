// Which method times GPUs on this machine. A process of its own finds this out, because CUPTI
// watches every process that has opened it, and it must not watch the one that drives a sweep.

#pragma once

#include <string>

#include "core/status.h"
#include "timing/timer.h"

namespace mgtune {

// default_gpu_method() as a child process `program worker method` finds it. If the child crashes,
// hangs for 20 s or sends a malformed answer, the method is CUDA events, and the reason says so.
// environment if no child can be started.
Result<TimingMethod> probe_timing_method(const std::string& program);

// In the child: writes the method to standard output as one line of JSON.
void write_timing_method(const TimingMethod& method);

}  // namespace mgtune

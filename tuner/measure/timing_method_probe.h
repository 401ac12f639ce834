// Finds out which method can time GPUs on this machine. A separate process does this, because CUPTI
// watches every process that has opened it, and it must not watch the process that drives a sweep.

#pragma once

#include <string>

#include "core/status.h"
#include "timing/timer.h"

namespace mgtune {

// Runs default_gpu_method() in the child process `program worker method`. If the child crashes,
// hangs for 20 s or sends a malformed answer, the method is CUDA events, and the reason says so.
// environment if no child can be started.
Result<TimingMethod> probe_timing_method(const std::string& program);

// In the child: writes the method to standard output as one line of JSON.
void write_timing_method(const TimingMethod& method);

}  // namespace mgtune

// Which method times GPUs in this machine, asked in a process of its own: CUPTI, once opened,
// watches the process that opened it, and that must not be the one that drives a sweep.

#pragma once

#include <string>

#include "core/status.h"
#include "timing/timer.h"

namespace mgtune {

// default_gpu_method() as a child process `program worker method` finds it. A child that crashes,
// hangs for 20 s or answers nonsense leaves CUDA events, with that as the reason; environment when
// none can be started.
Result<TimingMethod> probe_timing_method(const std::string& program);

// The child's side: writes the method to standard output as a line of JSON.
void write_timing_method(const TimingMethod& method);

}  // namespace mgtune

// The workers behind the hidden subcommands `mgtune worker measure DEVICE METHOD [REASON]` and
// `mgtune worker count DEVICE`. (compile_worker.h has `worker compile`, timing_method_probe.h has
// `worker method`.) They read requests from standard input until it closes and answer on standard
// output. The returned Status is the worker's failure, never the failure of a single variant. A
// measure worker first checks that its GPU works (health_check.h).

#pragma once

#include <string>

#include "core/status.h"
#include "timing/timer.h"

namespace mgtune {

Status run_measure_worker(const std::string& device_id, const TimingMethod& method);
Status run_count_worker(const std::string& device_id);

}  // namespace mgtune

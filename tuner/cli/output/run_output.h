// What `mgtune run` prints about one variant that it ran. Pure functions.

#pragma once

#include <string>

#include "cli/exit_code.h"
#include "debug/run_worker.h"
#include "debug/single_run.h"
#include "device/device.h"
#include "family/problem.h"

namespace mgtune {

// Printed on standard error before the start. It says what runs, where, and why this variant was
// chosen.
std::string run_announcement(const DeviceInfo& device, const Problem& problem,
                             const std::string& variant, const std::string& source);

// The outcome, each output with its error, the time, and the operator's metrics.
std::string run_text(const Problem& problem, const std::string& variant, const SingleRun& run);

// The same as JSON. The device is named by its id.
std::string run_json(const std::string& device, const Problem& problem, const std::string& variant,
                     const SingleRun& run);

// The line "outcome" for a child process that crashed or hung.
std::string lost_run_text(const RunWorkerEnd& end);

ExitCode run_exit_code(Outcome outcome);

}  // namespace mgtune

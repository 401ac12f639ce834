// SingleRun: one variant that is launched on its own, for a person who looks for its fault.
//
// run_variant() runs the kernel in the calling process, so a kernel that crashes or hangs takes the
// process with it; run_in_worker() (debug/run_worker.h) does the same in a child process. If the
// kernel prints something, only the output of the first launch is shown. One thread.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "check/compare.h"
#include "compiler/debug_build.h"
#include "core/status.h"
#include "family/problem.h"
#include "family/variant.h"
#include "store/records.h"

namespace mgtune {

enum class RunSteps : std::uint8_t {
  launch_only,     // for a debugger or a profiler: one launch, and how its outputs compare
  check_and_time,  // also the check of a sweep (both seeds, all thread orders), and the time
};

struct SingleRun {
  Outcome outcome = Outcome::ok;      // of the check, or of the launch if there was no check
  std::string message;                // "" if the outcome is ok
  std::string compiler_output;        // warnings, or the whole message if it does not compile
  std::vector<OutputReport> outputs;  // of the first launch; empty if there was none
  std::string method;                 // how the time was measured: "emulation", "hot"
  std::optional<double> time_ns;      // the median; nullopt if it was not timed
  std::int64_t launches_timed = 0;
};

// Builds the variant with `debug` information, launches it on the device with this id, and compares
// every output with the reference. A failure of the variant is an outcome; a Status is any other
// failure.
Result<SingleRun> run_variant(const std::string& device_id, const Problem& problem,
                              const Variant& variant, DebugInfo debug, RunSteps steps);

}  // namespace mgtune

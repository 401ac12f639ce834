// Runs one variant in a child process, `mgtune worker run`, so that a kernel which crashes or hangs
// ends only the child. The output of the child appears at once on standard output and standard
// error of this process. One thread.

#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/status.h"
#include "store/records.h"

namespace mgtune {

struct RunWorkerEnd {
  Outcome outcome = Outcome::ok;  // crashed or timeout if the child did not come to its end
  std::string message;            // of these two
  int exit_code = 0;              // of a child that came to its end
};

// `command` starts the child. environment if it cannot be started.
Result<RunWorkerEnd> run_in_worker(const std::vector<std::string>& command,
                                   std::chrono::milliseconds deadline);

}  // namespace mgtune

// Runs a program to its end and brings back its output. Its standard output and error come back
// together; its input is empty. Everything that it started ends with this process (see
// Process::Orphans::kill_all). Thread-safe.

#pragma once

#include <chrono>
#include <string>

#include "core/status.h"
#include "system/process.h"

namespace mgtune {

struct Subprocess : ProcessCommand {
  std::chrono::milliseconds deadline{60'000};
};

struct SubprocessOutcome {
  int exit_code;       // 128 + signal if a signal ended it
  std::string output;  // at most the first 4 MiB
};

// environment if the program cannot be started, timeout if it was killed at its deadline together
// with everything that it started.
Result<SubprocessOutcome> run_subprocess(const Subprocess& command);

}  // namespace mgtune

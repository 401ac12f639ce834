// Runs a program and waits for it: an argument vector, never a shell. Its standard output and error
// come back together; its input is empty. Thread-safe.
//
// Nothing that the program started outlives this process, however this process ends: a fork of it
// stands between the two, waits for the program and, should this process die, kills them all.

#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/status.h"

namespace mgtune {

struct Subprocess {
  std::vector<std::string> arguments;  // [0]: a path, or a name that PATH finds
  std::string directory;               // to run in; "": this process's own
  std::string temporary_folder;        // its TMPDIR, an absolute path; likewise
  std::chrono::milliseconds deadline{60'000};
};

struct SubprocessOutcome {
  int exit_code;       // 128 + signal when a signal ended it
  std::string output;  // at most the first 4 MiB
};

// environment when the program cannot be started, timeout when it was killed at its deadline
// together with everything it started.
Result<SubprocessOutcome> run_subprocess(const Subprocess& command);

}  // namespace mgtune

// Runs a program and waits for it. It takes an argument vector and uses no shell. The program's
// input is empty, and its standard output and error are returned together. Thread-safe.
//
// No process that the program started outlives this process, however this process ends. A fork of
// this process starts the program and waits for it. If this process dies, the fork kills them all.

#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/status.h"

namespace mgtune {

struct Subprocess {
  std::vector<std::string> arguments;  // [0]: a path, or a name that PATH finds
  std::string directory;               // working directory; "": that of this process
  std::string temporary_folder;        // its TMPDIR, an absolute path; "": that of this process
  std::chrono::milliseconds deadline{60'000};
};

struct SubprocessOutcome {
  int exit_code;       // 128 + signal if a signal ended it
  std::string output;  // at most the first 4 MiB
};

// environment if the program cannot be started. timeout if it was killed at its deadline, together
// with all processes that it started.
Result<SubprocessOutcome> run_subprocess(const Subprocess& command);

}  // namespace mgtune

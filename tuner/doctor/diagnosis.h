// Diagnosis: finds out whether this machine has everything that mgtune needs. It loads libraries,
// asks a child process how GPUs can be timed, and compiles nothing.

#pragma once

#include <string>
#include <vector>

namespace mgtune {

// One thing that was looked for.
struct Finding {
  std::string what;
  bool ok = false;
  std::string found;   // where it is, or what is wrong
  std::string advice;  // what to do if it is missing
  bool optional = false;

  const char* state() const { return ok ? "ok" : optional ? "not here" : "missing"; }
};

struct Diagnosis {
  std::vector<Finding> findings;
  bool can_sweep = false;  // on the cpu device or on a GPU
};

// `program` is the absolute path of mgtune, to start the child process.
Diagnosis diagnose(const std::string& program);

}  // namespace mgtune

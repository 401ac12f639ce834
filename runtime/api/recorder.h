// MGTUNE_RECORD: a running program writes the problems that it launches, for
// 'mgtune sweep --shapes'. README.md has the format and what it costs.
//
// ShapeFile is thread-safe. A PlanRecorder belongs to one plan; any number of threads may record.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>

#include "api/seen_dims.h"
#include "dispatch/plan.h"
#include "family/problem.h"
#include "launch/launch_dims.h"

namespace mgtune {

// A file that lines are appended to, each once a process. What cannot be written is warned of once.
class ShapeFile {
 public:
  explicit ShapeFile(std::string path) : path_(std::move(path)) {}

  // That of MGTUNE_RECORD, one a process; null where that is not set.
  static ShapeFile* of_environment();

  void append(const Problem& problem);

 private:
  std::string path_;
  std::mutex mutex_;
  std::set<std::string> written_;
  bool failed_ = false;
};

class PlanRecorder {
 public:
  // The binding and the file outlive it.
  PlanRecorder(const Binding& binding, ShapeFile& file)
      : binding_(binding), dims_(*binding.op), file_(file) {}

  // Of a launch, with -1 for a dim's default.
  void record(std::span<const std::int64_t> dims) {
    if (seen_.insert(dims)) write(dims);
  }

 private:
  void write(std::span<const std::int64_t> dims);

  const Binding& binding_;
  LaunchDims dims_;
  ShapeFile& file_;
  SeenDims seen_;
};

}  // namespace mgtune

// QuietOutput: while it lives, what this process writes on standard output is discarded. A kernel
// that prints is launched many times by a check; a person wants to read it once. One at a time, one
// thread.

#pragma once

#include <utility>

#include "core/status.h"
#include "system/file_descriptor.h"

namespace mgtune {

class QuietOutput {
 public:
  static Result<QuietOutput> begin();
  QuietOutput(QuietOutput&& other) noexcept = default;
  QuietOutput& operator=(QuietOutput&&) = delete;
  ~QuietOutput();

 private:
  explicit QuietOutput(FileDescriptor output) : output_(std::move(output)) {}

  FileDescriptor output_;  // the one that standard output gets back
};

}  // namespace mgtune

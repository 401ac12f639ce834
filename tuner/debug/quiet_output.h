// QuietOutput: while it lives, what this process writes on standard output goes elsewhere. A kernel
// that prints is launched many times by a check, and a person wants to read it once; and JSON
// should have standard output to itself. One may live within another. One thread.

#pragma once

#include <utility>

#include "core/status.h"
#include "system/file_descriptor.h"

namespace mgtune {

class QuietOutput {
 public:
  static Result<QuietOutput> begin();            // discards it
  static Result<QuietOutput> begin_on_errors();  // writes it on standard error
  QuietOutput(QuietOutput&& other) noexcept = default;
  QuietOutput& operator=(QuietOutput&&) = delete;
  ~QuietOutput();

 private:
  static Result<QuietOutput> begin_on(int descriptor);
  explicit QuietOutput(FileDescriptor output) : output_(std::move(output)) {}

  FileDescriptor output_;  // the one that standard output gets back
};

}  // namespace mgtune

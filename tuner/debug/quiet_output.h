// QuietOutput: while the object exists, everything that this process writes on standard output goes
// elsewhere. There are two reasons: a check launches a kernel many times, but a person wants to
// read its output only once; and if standard output has JSON, nothing else may be printed there.
// Objects may be nested. One thread.

#pragma once

#include <utility>

#include "core/status.h"
#include "system/file_descriptor.h"

namespace mgtune {

class QuietOutput {
 public:
  static Result<QuietOutput> begin();            // discards the output
  static Result<QuietOutput> begin_on_errors();  // writes the output on standard error
  QuietOutput(QuietOutput&& other) noexcept = default;
  QuietOutput& operator=(QuietOutput&&) = delete;
  ~QuietOutput();

 private:
  static Result<QuietOutput> begin_on(int descriptor);
  explicit QuietOutput(FileDescriptor output) : output_(std::move(output)) {}

  FileDescriptor output_;  // what standard output was before
};

}  // namespace mgtune

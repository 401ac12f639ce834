#include "debug/quiet_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace mgtune {

Result<QuietOutput> QuietOutput::begin() {
  const FileDescriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!nowhere.is_open()) {
    return io_error("cannot discard what the kernel prints: /dev/null does not open");
  }
  return begin_on(nowhere.get());
}

Result<QuietOutput> QuietOutput::begin_on_errors() { return begin_on(STDERR_FILENO); }

Result<QuietOutput> QuietOutput::begin_on(int descriptor) {
  std::fflush(stdout);
  FileDescriptor output(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!output.is_open() || ::dup2(descriptor, STDOUT_FILENO) < 0) {
    return io_error("cannot redirect what the kernel prints: too many files are open");
  }
  return QuietOutput(std::move(output));
}

QuietOutput::~QuietOutput() {
  if (!output_.is_open()) return;
  std::fflush(stdout);
  ::dup2(output_.get(), STDOUT_FILENO);
}

}  // namespace mgtune

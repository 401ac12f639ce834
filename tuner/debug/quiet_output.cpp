#include "debug/quiet_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace mgtune {

Result<QuietOutput> QuietOutput::begin() {
  std::fflush(stdout);
  FileDescriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  FileDescriptor output(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!nowhere.is_open() || !output.is_open() || ::dup2(nowhere.get(), STDOUT_FILENO) < 0) {
    return io_error("cannot discard what the kernel prints: /dev/null does not open");
  }
  return QuietOutput(std::move(output));
}

QuietOutput::~QuietOutput() {
  if (!output_.is_open()) return;
  std::fflush(stdout);
  ::dup2(output_.get(), STDOUT_FILENO);
}

}  // namespace mgtune

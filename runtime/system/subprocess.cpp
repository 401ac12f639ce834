#include "system/subprocess.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "system/descriptor_io.h"
#include "system/wait_set.h"

namespace mgtune {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMaxOutputBytes = std::size_t{4} << 20;

// Reads until the end of the output; false if the deadline comes first.
bool read_until(Clock::time_point deadline, int input, std::string& output) {
  while (Clock::now() < deadline) {
    const ssize_t bytes = read_some(input, output);
    if (bytes == 0 || (bytes < 0 && errno != EAGAIN)) return true;
    output.resize(std::min(output.size(), kMaxOutputBytes));
    if (bytes > 0) continue;
    WaitSet waiting;
    waiting.add(input);
    waiting.add(deadline);
    waiting.wait();
  }
  return false;
}

}  // namespace

Result<SubprocessOutcome> run_subprocess(const Subprocess& command) {
  const Clock::time_point deadline = Clock::now() + command.deadline;
  const FileDescriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing.is_open()) {
    return io_error(std::string("cannot open /dev/null: ") + std::strerror(errno));
  }
  MGTUNE_ASSIGN(Pipe pipe, make_pipe());
  MGTUNE_ASSIGN(Process process,
                Process::start(command, {nothing.get(), pipe.writing.get(), pipe.writing.get()},
                               Process::Orphans::kill_all));
  pipe.writing.close();
  SubprocessOutcome outcome{};
  if (!read_until(deadline, pipe.reading.get(), outcome.output)) {
    return Status(StatusCode::timeout, "'" + command.arguments[0] + "' was still running after " +
                                           std::to_string(command.deadline.count()) +
                                           " ms and was ended");
  }
  pipe.reading.close();
  process.wait();
  outcome.exit_code = process.exit_code();
  return outcome;
}

}  // namespace mgtune

#include "debug/run_worker.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "system/file_descriptor.h"
#include "system/process.h"
#include "worker/worker_failure.h"

namespace mgtune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSignalled = 128;  // exit codes from here on: a signal ended the child

// Copies what the child writes on standard error until it ends; false if the deadline comes first.
bool copy_errors(const FileDescriptor& errors, Clock::time_point deadline, std::string& written) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    pollfd ready{errors.get(), POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(left.count())) == 0) return false;
    const std::size_t before = written.size();
    const ssize_t bytes = read_some(errors.get(), written);
    if (bytes == 0 || (bytes < 0 && errno != EAGAIN && errno != EINTR)) return true;
    static_cast<void>(write_all(STDERR_FILENO, std::string_view(written).substr(before)));
  }
}

}  // namespace

Result<RunWorkerEnd> run_in_worker(const std::vector<std::string>& command,
                                   std::chrono::milliseconds deadline) {
  MGTUNE_ASSIGN(Pipe errors, make_pipe());
  MGTUNE_ASSIGN(Process process,
                Process::start({.arguments = command, .directory = "", .temporary_folder = ""},
                               {STDIN_FILENO, STDOUT_FILENO, errors.writing.get()},
                               Process::Orphans::kill_program));
  errors.writing.close();
  std::string written;
  if (!copy_errors(errors.reading, Clock::now() + deadline, written)) {
    process.kill();
    return RunWorkerEnd{Outcome::timeout,
                        "not done after " + std::to_string(deadline.count() / 1000) + " s", 0};
  }
  process.wait();
  if (process.exit_code() > kSignalled) {
    return RunWorkerEnd{Outcome::crashed, crash_message(process.end_description(), written), 0};
  }
  return RunWorkerEnd{Outcome::ok, "", process.exit_code()};
}

}  // namespace mgtune

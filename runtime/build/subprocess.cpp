#include "build/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/file_descriptor.h"

namespace mgtune {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMaxOutputBytes = 4 << 20;

// Starts the program as leader of a process group of its own, writing to `output`.
Result<pid_t> spawn(const Subprocess& command, int output) {
  std::vector<char*> arguments;
  for (const std::string& argument : command.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  if (!command.directory.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, command.directory.c_str());
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);

  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return environment_error("cannot run '" + command.arguments[0] + "': " + std::strerror(error));
  }
  return child;
}

// Reads until the end of the output; false when the deadline came first.
bool read_all(int input, Clock::time_point deadline, std::string& output) {
  std::array<char, 16 << 10> chunk;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    pollfd ready{input, POLLIN, 0};
    const int polled = poll(&ready, 1, static_cast<int>(left.count()));
    if (polled == 0 || (polled < 0 && errno == EINTR)) continue;
    const ssize_t bytes = read(input, chunk.data(), chunk.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return true;
    const std::size_t room = kMaxOutputBytes - output.size();
    output.append(chunk.data(), std::min(room, static_cast<std::size_t>(bytes)));
  }
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<SubprocessOutcome> run_subprocess(const Subprocess& command) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return io_error(std::string("cannot create a pipe: ") + std::strerror(errno));
  }
  const Clock::time_point deadline = Clock::now() + command.deadline;
  FileDescriptor reading(ends[0]), writing(ends[1]);
  MGTUNE_ASSIGN(const pid_t child, spawn(command, writing.get()));
  writing.close();
  SubprocessOutcome outcome{};
  const bool ended = read_all(reading.get(), deadline, outcome.output);
  reading.close();
  if (!ended) kill(-child, SIGKILL);
  outcome.exit_code = wait_for(child);
  if (!ended) {
    return Status(StatusCode::timeout, "'" + command.arguments[0] + "' was still running after " +
                                           std::to_string(command.deadline.count()) +
                                           " ms and was ended");
  }
  return outcome;
}

}  // namespace mgtune

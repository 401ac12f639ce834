#include "system/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "system/file_descriptor.h"

namespace mgtune {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMaxOutputBytes = 4 << 20;
constexpr int kFailure = 3;  // the descriptor that brings errno where there is no such program
constexpr int kNotRun = 127;

// The data that the processes below need. It is made before the first fork, because they may not
// allocate memory.
struct Prepared {
  std::vector<char*> arguments, environment;
  const char* directory;
  int output, failure;
  pid_t parent;
  sigset_t signals;  // blocked in the caller
};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

// The environment of this process, with another TMPDIR if the caller asks for it.
std::vector<std::string> environment_of(const Subprocess& command) {
  std::vector<std::string> result;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const bool replaced =
        !command.temporary_folder.empty() && std::string_view(*variable).starts_with("TMPDIR=");
    if (!replaced) result.emplace_back(*variable);
  }
  if (!command.temporary_folder.empty()) result.push_back("TMPDIR=" + command.temporary_folder);
  return result;
}

[[noreturn]] void give_up(int error) {
  static_cast<void>(!::write(kFailure, &error, sizeof error));
  ::_exit(kNotRun);
}

// Only the standard descriptors and kFailure stay open. The locks of this process must not outlive
// it, and neither must the pipes whose closing tells others that it has ended.
void connect(const Prepared& prepared) {
  const int output = ::fcntl(prepared.output, F_DUPFD, kFailure + 1);
  const int failure = ::fcntl(prepared.failure, F_DUPFD, kFailure + 1);
  ::dup2(failure, kFailure);
  ::fcntl(kFailure, F_SETFD, FD_CLOEXEC);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::close(STDIN_FILENO);
  const int nothing = ::open("/dev/null", O_RDONLY);  // the lowest number that is free: 0
  if (output < 0 || failure < 0 || nothing != STDIN_FILENO) give_up(errno);
  ::close_range(kFailure + 1, ~0U, 0);
}

// The keeper takes the place of the program's parent. If the parent dies, by whatever signal, the
// keeper kills the whole group. The kernel reports a death only to direct children, and a compiler
// has children of its own.
[[noreturn]] void keep(const Prepared& prepared) {
  ::setpgid(0, 0);
  ::signal(SIGTERM, SIG_DFL);
  ::signal(SIGCHLD, SIG_DFL);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != prepared.parent) ::_exit(kNotRun);  // it died before the line above
  connect(prepared);
  const pid_t program = ::fork();
  if (program < 0) give_up(errno);
  if (program == 0) {
    ::sigprocmask(SIG_SETMASK, &prepared.signals, nullptr);
    if (*prepared.directory != '\0' && ::chdir(prepared.directory) != 0) give_up(errno);
    ::execvpe(prepared.arguments[0], prepared.arguments.data(), prepared.environment.data());
    give_up(errno);
  }
  ::close(kFailure);
  sigset_t awaited;
  ::sigemptyset(&awaited);
  ::sigaddset(&awaited, SIGTERM);
  ::sigaddset(&awaited, SIGCHLD);
  int status = 0;
  while (::waitpid(program, &status, WNOHANG) != program) {
    if (::sigwaitinfo(&awaited, nullptr) == SIGTERM) ::kill(0, SIGKILL);
  }
  ::_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

// Starts the program as a child of a keeper, which leads its own process group.
Result<pid_t> spawn(const Subprocess& command, int output, int failure) {
  const std::vector<std::string> environment = environment_of(command);
  Prepared prepared{pointers(command.arguments),
                    pointers(environment),
                    command.directory.c_str(),
                    output,
                    failure,
                    ::getpid(),
                    {}};
  // No handler of this process may run in the keeper.
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &prepared.signals);
  const pid_t keeper = ::fork();
  if (keeper == 0) keep(prepared);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &prepared.signals, nullptr);
  if (keeper < 0) {
    return environment_error("cannot run '" + command.arguments[0] + "': " + std::strerror(error));
  }
  ::setpgid(keeper, keeper);  // here as well: whoever comes first
  return keeper;
}

// Reads until the end of the output. Returns false if the deadline came first.
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

Status pipe_failure() {
  return io_error(std::string("cannot create a pipe: ") + std::strerror(errno));
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<SubprocessOutcome> run_subprocess(const Subprocess& command) {
  std::array<int, 2> ends{}, failure_ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return pipe_failure();
  FileDescriptor reading(ends[0]), writing(ends[1]);
  if (pipe2(failure_ends.data(), O_CLOEXEC) != 0) return pipe_failure();
  const FileDescriptor failure(failure_ends[0]);
  FileDescriptor failing(failure_ends[1]);
  const Clock::time_point deadline = Clock::now() + command.deadline;
  MGTUNE_ASSIGN(const pid_t keeper, spawn(command, writing.get(), failing.get()));
  writing.close();
  failing.close();
  SubprocessOutcome outcome{};
  const bool ended = read_all(reading.get(), deadline, outcome.output);
  reading.close();
  if (!ended) kill(-keeper, SIGKILL);
  outcome.exit_code = wait_for(keeper);
  if (!ended) {
    return Status(StatusCode::timeout, "'" + command.arguments[0] + "' was still running after " +
                                           std::to_string(command.deadline.count()) +
                                           " ms and was ended");
  }
  int error = 0;
  if (read(failure.get(), &error, sizeof error) == sizeof error) {
    return environment_error("cannot run '" + command.arguments[0] + "': " + std::strerror(error));
  }
  return outcome;
}

}  // namespace mgtune

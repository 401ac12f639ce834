#include "system/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace mgtune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kErrorBytes = std::size_t{64} << 10;
constexpr std::size_t kLongestLine = std::size_t{16} << 20;
constexpr std::chrono::seconds kTimeToGo{1};

Status errno_status(const char* what) {
  return io_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

// Away from 0 to 2, which the child's own pipes will occupy (a parent may run with those closed).
FileDescriptor above_standard(FileDescriptor descriptor) {
  if (descriptor.get() > 2) return descriptor;
  return FileDescriptor(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 3));
}

struct Pipe {
  FileDescriptor parent, child;
};

Result<Pipe> make_pipe() {  // from the child
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_status("pipe2");
  Pipe pipe{above_standard(FileDescriptor(ends[0])), above_standard(FileDescriptor(ends[1]))};
  if (::fcntl(pipe.parent.get(), F_SETFL, O_NONBLOCK) != 0) return errno_status("fcntl");
  return pipe;
}

// To the child. A socket, because send() can be told to raise no SIGPIPE.
Result<Pipe> make_input() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return errno_status("socketpair");
  }
  return Pipe{above_standard(FileDescriptor(ends[0])), above_standard(FileDescriptor(ends[1]))};
}

struct Pipes {
  Pipe input, output, error;
  Pipe failure;  // closes when exec succeeds, brings errno when it does not
};

// In the child, between fork and exec: only what is safe after the fork of a program with threads.
[[noreturn]] void become(char* const* arguments, const Pipes& pipes, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before the line above
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  const bool connected = ::dup2(pipes.input.child.get(), STDIN_FILENO) >= 0 &&
                         ::dup2(pipes.output.child.get(), STDOUT_FILENO) >= 0 &&
                         ::dup2(pipes.error.child.get(), STDERR_FILENO) >= 0;
  if (connected) ::execv(arguments[0], arguments);
  const int error = errno;
  static_cast<void>(!::write(pipes.failure.child.get(), &error, sizeof error));
  ::_exit(127);
}

// Waits for exec: 0 when it succeeded, else its errno.
int exec_error(const FileDescriptor& failure) {
  pollfd ready{failure.get(), POLLIN, 0};
  while (::poll(&ready, 1, -1) < 0 && errno == EINTR) {
  }
  int error = 0;
  return ::read(failure.get(), &error, sizeof error) == sizeof error ? error : 0;
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000'000));
}

enum class ReadEnd : std::uint8_t { more, nothing_now, closed };

ReadEnd read_some(FileDescriptor& from, std::string& to) {
  std::array<char, 65536> chunk;
  ssize_t bytes = 0;
  do {
    bytes = ::read(from.get(), chunk.data(), chunk.size());
  } while (bytes < 0 && errno == EINTR);
  if (bytes > 0) {
    to.append(chunk.data(), static_cast<std::size_t>(bytes));
    return ReadEnd::more;
  }
  if (bytes < 0 && errno == EAGAIN) return ReadEnd::nothing_now;
  from.close();
  return ReadEnd::closed;
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& command) {
  Pipes pipes;
  MGTUNE_ASSIGN(pipes.input, make_input());
  MGTUNE_ASSIGN(pipes.output, make_pipe());
  MGTUNE_ASSIGN(pipes.error, make_pipe());
  MGTUNE_ASSIGN(pipes.failure, make_pipe());
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return errno_status("fork");
  if (pid == 0) become(arguments.data(), pipes, parent);

  ChildProcess child;
  child.pid_ = pid;
  child.reaped_ = false;
  child.input_ = std::move(pipes.input.parent);
  child.output_ = std::move(pipes.output.parent);
  child.error_ = std::move(pipes.error.parent);
  pipes.failure.child.close();
  if (const int error = exec_error(pipes.failure.parent); error != 0) {
    return environment_error(
        fmt::format("cannot run {}: {}", command.front(), std::strerror(error)));
  }
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept { swap(other); }

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  ChildProcess taken(std::move(other));
  swap(taken);
  return *this;
}

// Its input's end tells it to go, and it takes its temporary files along; one that is busy is
// killed.
ChildProcess::~ChildProcess() {
  end_input();
  const Clock::time_point deadline = Clock::now() + kTimeToGo;
  while (!reap(false) && Clock::now() < deadline) {
    drain_error();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill();
}

void ChildProcess::swap(ChildProcess& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(input_, other.input_);
  std::swap(output_, other.output_);
  std::swap(error_, other.error_);
  std::swap(output_buffer_, other.output_buffer_);
  std::swap(error_buffer_, other.error_buffer_);
  std::swap(wait_status_, other.wait_status_);
  std::swap(reaped_, other.reaped_);
  std::swap(killed_, other.killed_);
}

Status ChildProcess::write_line(const std::string& line) {
  const std::string text = line + '\n';
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t bytes =
        ::send(input_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return errno_status("writing to the child process");
    sent += static_cast<std::size_t>(bytes);
  }
  return {};
}

std::optional<std::string> ChildProcess::next_buffered_line() {
  const std::size_t end = output_buffer_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = output_buffer_.substr(0, end);
  output_buffer_.erase(0, end + 1);
  return line;
}

// A bounded part of what is there: a child that never stops writing must not keep its parent here.
void ChildProcess::drain_error() {
  for (int chunk = 0; chunk < 16; ++chunk) {
    if (!error_.is_open() || read_some(error_, error_buffer_) != ReadEnd::more) return;
    if (error_buffer_.size() > kErrorBytes) {
      error_buffer_.erase(0, error_buffer_.size() - kErrorBytes);
    }
  }
}

Result<std::string> ChildProcess::read_line(Clock::time_point deadline) {
  while (true) {
    if (std::optional<std::string> line = next_buffered_line()) return *std::move(line);
    if (output_buffer_.size() > kLongestLine) {
      return io_error(fmt::format("the child process wrote a line of over {} bytes", kLongestLine));
    }
    if (!output_.is_open()) return io_error("the child process has ended");
    const bool late = Clock::now() >= deadline;
    std::array<pollfd, 2> ready{pollfd{output_.get(), POLLIN, 0}, pollfd{error_.get(), POLLIN, 0}};
    const int count = ::poll(ready.data(), ready.size(), milliseconds_until(deadline));
    if (count < 0 && errno != EINTR) return errno_status("poll");
    if (count < 0) continue;
    if (ready[1].revents != 0) drain_error();  // or the child would block on a full pipe
    if (ready[0].revents != 0) {
      read_some(output_, output_buffer_);
    } else if (count == 0 || late) {
      return Status(StatusCode::timeout, "no line before the deadline");
    }
  }
}

// Whether it has ended (or, with `wait`, until then). The group is killed before the process is
// collected, while its number cannot belong to anything else.
bool ChildProcess::reap(bool wait) {
  if (reaped_) return true;
  siginfo_t info{};
  const int options = WEXITED | WNOWAIT | (wait ? 0 : WNOHANG);
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, options) != 0 && errno == EINTR) {
  }
  if (info.si_pid == 0) return false;
  ::kill(-pid_, SIGKILL);
  while (::waitpid(pid_, &wait_status_, 0) < 0 && errno == EINTR) {
  }
  reaped_ = true;
  return true;
}

void ChildProcess::kill() {
  if (reaped_) return;
  killed_ = true;
  ::kill(-pid_, SIGKILL);
  reap(true);
}

std::string ChildProcess::end_description() {
  const Clock::time_point deadline = Clock::now() + kTimeToGo;
  while (!reap(false) && Clock::now() < deadline) {
    drain_error();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill();
  if (WIFEXITED(wait_status_)) return fmt::format("exited with {}", WEXITSTATUS(wait_status_));
  const int number = WTERMSIG(wait_status_);
  const char* name = ::sigdescr_np(number);
  return fmt::format("killed by signal {} ({})", number, name == nullptr ? "unknown" : name);
}

bool ChildProcess::ended_from_outside() const {
  constexpr std::array<int, 7> kOwnMistakes = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                                               SIGABRT, SIGTRAP, SIGSYS};
  return reaped_ && !killed_ && WIFSIGNALED(wait_status_) &&
         std::ranges::find(kOwnMistakes, WTERMSIG(wait_status_)) == kOwnMistakes.end();
}

std::string ChildProcess::read_error_output() {
  drain_error();
  return std::exchange(error_buffer_, {});
}

}  // namespace mgtune

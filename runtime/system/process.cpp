#include "system/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "system/wait_set.h"

namespace mgtune {
namespace {

constexpr int kFailure = 3;  // the child's descriptor for the errno of a failed start
constexpr int kNotRun = 127;

// The data that the child needs. It is made before the fork, because the child of a process with
// threads may not allocate memory.
struct Prepared {
  std::vector<char*> arguments, environment;
  const char* directory;
  std::array<int, 4> descriptors;  // they become 0, 1, 2 and kFailure
  pid_t parent;
  std::vector<cpu_set_t> cores;  // a mask of all of them; empty: it is left as it is
};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

// The environment of this process, with another TMPDIR if the command has one.
std::vector<std::string> environment_for(const ProcessCommand& command) {
  std::vector<std::string> result;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const bool replaced =
        !command.temporary_folder.empty() && std::string_view(*variable).starts_with("TMPDIR=");
    if (!replaced) result.emplace_back(*variable);
  }
  if (!command.temporary_folder.empty()) result.push_back("TMPDIR=" + command.temporary_folder);
  return result;
}

std::vector<cpu_set_t> mask_of(const Cores& cores) {
  if (cores.empty()) return {};
  std::vector<cpu_set_t> mask(static_cast<std::size_t>(cores.back()) / CPU_SETSIZE + 1);
  for (const int core : cores) {
    CPU_SET_S(static_cast<std::size_t>(core), mask.size() * sizeof(cpu_set_t), mask.data());
  }
  return mask;
}

[[noreturn]] void give_up(int error) {
  static_cast<void>(!::write(kFailure, &error, sizeof error));
  ::_exit(kNotRun);
}

// Closes all other descriptors. Otherwise the program would keep locks of this process after its
// end, and would keep pipes open.
void connect(const Prepared& prepared) {
  std::array<int, 4> copies{};
  for (std::size_t i = copies.size(); i-- > 0;) {  // kFailure first
    copies[i] = ::fcntl(prepared.descriptors[i], F_DUPFD, kFailure + 1);
  }
  for (int i = kFailure; i >= 0; --i) {
    const int copy = copies[static_cast<std::size_t>(i)];
    if (copy >= 0 && ::dup2(copy, i) >= 0) continue;
    if (i == kFailure) ::_exit(kNotRun);  // the number may still belong to another file
    give_up(errno);
  }
  ::fcntl(kFailure, F_SETFD, FD_CLOEXEC);
  ::close_range(kFailure + 1, ~0U, 0);
}

// Returns in the program's process; the process that calls it becomes the keeper. If the keeper's
// parent dies, the keeper kills its whole group: the kernel reports a death to direct children
// only, and a compiler has children of its own.
void fork_below_keeper() {
  const pid_t program = ::fork();
  if (program < 0) give_up(errno);
  if (program == 0) return;
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

// The child, with all signals blocked.
[[noreturn]] void run_child(const Prepared& prepared, Process::Orphans orphans) {
  const bool is_keeper = orphans == Process::Orphans::kill_all;
  ::setpgid(0, 0);
  ::signal(SIGTERM, SIG_DFL);
  ::signal(SIGCHLD, SIG_DFL);
  ::signal(SIGPIPE, SIG_DFL);
  ::prctl(PR_SET_PDEATHSIG, is_keeper ? SIGTERM : SIGKILL);
  if (::getppid() != prepared.parent) ::_exit(kNotRun);  // it died before the line above
  connect(prepared);
  if (!prepared.cores.empty()) {
    ::sched_setaffinity(0, prepared.cores.size() * sizeof(cpu_set_t), prepared.cores.data());
  }
  if (is_keeper) fork_below_keeper();
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (*prepared.directory != '\0' && ::chdir(prepared.directory) != 0) give_up(errno);
  ::execvpe(prepared.arguments[0], prepared.arguments.data(), prepared.environment.data());
  give_up(errno);
}

// Forks with all signals blocked: no handler of this process may run in the child.
pid_t fork_child(const Prepared& prepared, Process::Orphans orphans) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t child = ::fork();
  if (child == 0) run_child(prepared, orphans);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child > 0) ::setpgid(child, child);  // here as well: it must be done before either goes on
  errno = error;
  return child;
}

constexpr std::size_t kMaxOutputBytes = std::size_t{4} << 20;

// Reads until the end of the output; false if the deadline comes first.
bool read_until(std::chrono::steady_clock::time_point deadline, int input, std::string& output) {
  while (std::chrono::steady_clock::now() < deadline) {
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

FileDescriptor above_standard(FileDescriptor descriptor) {
  if (descriptor.get() > STDERR_FILENO) return descriptor;
  return FileDescriptor(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) == 0) {
    Pipe pipe{above_standard(FileDescriptor(ends[0])), above_standard(FileDescriptor(ends[1]))};
    if (::fcntl(pipe.reading.get(), F_SETFL, O_NONBLOCK) == 0) return pipe;
  }
  return io_error(std::string("cannot create a pipe: ") + std::strerror(errno));
}

Result<Process> Process::start(const ProcessCommand& command,
                               const StandardDescriptors& descriptors, Orphans orphans) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return io_error(std::string("cannot create a pipe: ") + std::strerror(errno));
  }
  const FileDescriptor failure(ends[0]);
  FileDescriptor child_failure(ends[1]);
  const std::vector<std::string> environment = environment_for(command);
  const Prepared prepared{
      pointers(command.arguments),
      pointers(environment),
      command.directory.c_str(),
      {descriptors.input, descriptors.output, descriptors.error, child_failure.get()},
      ::getpid(),
      mask_of(command.cores)};
  Process process(fork_child(prepared, orphans));
  int error = errno;
  child_failure.close();
  if (process.pid_ > 0) {
    // The end of this pipe says that exec has succeeded.
    std::string bytes;
    if (!read_all(failure.get(), bytes, sizeof error) || bytes.size() < sizeof error)
      return process;
    std::memcpy(&error, bytes.data(), sizeof error);
  }
  return environment_error("cannot run '" + command.arguments[0] + "': " + std::strerror(error));
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      wait_status_(other.wait_status_),
      killed_(other.killed_) {}

// The group is killed before the process is collected, because until then no other group can have
// its number.
bool Process::collect(int options) {
  if (pid_ < 0) return true;
  siginfo_t info{};
  int failed = 0;
  do {
    failed = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | options);
  } while (failed != 0 && errno == EINTR);
  if (failed == 0) {
    if (info.si_pid == 0) return false;
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, &wait_status_, 0);
  }
  pid_ = -1;  // also if the program that this code is part of collects all its children itself
  return true;
}

bool Process::has_ended() { return collect(WNOHANG); }

void Process::wait() { collect(0); }

void Process::kill() {
  if (pid_ < 0) return;
  killed_ = true;
  ::kill(-pid_, SIGKILL);
  wait();
}

int Process::exit_code() const {
  return WIFSIGNALED(wait_status_) ? 128 + WTERMSIG(wait_status_) : WEXITSTATUS(wait_status_);
}

std::string Process::end_description() const {
  if (WIFEXITED(wait_status_)) return fmt::format("exited with {}", WEXITSTATUS(wait_status_));
  const int number = WTERMSIG(wait_status_);
  const char* name = ::sigdescr_np(number);
  return fmt::format("killed by signal {} ({})", number, name == nullptr ? "unknown" : name);
}

bool Process::ended_from_outside() const {
  constexpr std::array<int, 7> kOwnMistakes = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                                               SIGABRT, SIGTRAP, SIGSYS};
  return pid_ < 0 && !killed_ && WIFSIGNALED(wait_status_) &&
         std::ranges::find(kOwnMistakes, WTERMSIG(wait_status_)) == kOwnMistakes.end();
}

Result<SubprocessOutcome> run_subprocess(const Subprocess& command) {
  const auto deadline = std::chrono::steady_clock::now() + command.deadline;
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

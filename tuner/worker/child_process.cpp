#include "worker/child_process.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "system/file_descriptor.h"
#include "system/wait_set.h"

namespace mgtune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kErrorBytes = std::size_t{64} << 10;
constexpr std::size_t kMaxLineBytes = std::size_t{16} << 20;
constexpr std::chrono::seconds kTimeToExit{1};

// Appends the bytes that can be read now; false if there are none. Closes `from` if it has ended.
bool receive(FileDescriptor& from, std::string& to) {
  const ssize_t bytes = read_some(from.get(), to);
  if (bytes < 0 && errno == EAGAIN) return false;
  if (bytes <= 0) from.close();
  return true;
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& command,
                                         const Cores& cores) {
  // The input is a socket, because a write to a pipe cannot be told not to raise SIGPIPE.
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return io_error(std::string("cannot create a socket: ") + std::strerror(errno));
  }
  FileDescriptor input = above_standard(FileDescriptor(ends[0]));
  const FileDescriptor child_input = above_standard(FileDescriptor(ends[1]));
  MGTUNE_ASSIGN(Pipe output, make_pipe());
  MGTUNE_ASSIGN(Pipe error, make_pipe());
  MGTUNE_ASSIGN(Process process,
                Process::start({command, "", "", cores},
                               {child_input.get(), output.writing.get(), error.writing.get()},
                               Process::Orphans::kill_program));
  return ChildProcess(std::move(process), std::move(input), std::move(output.reading),
                      std::move(error.reading));
}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this == &other) return *this;
  std::destroy_at(this);  // ends the previous process, as the destructor does
  std::construct_at(this, std::move(other));
  return *this;
}

// When its input ends, the process exits and removes its temporary files. If it is busy, it is
// killed.
ChildProcess::~ChildProcess() {
  end_input();
  wait_or_kill();
}

void ChildProcess::wait_or_kill() {
  const Clock::time_point deadline = Clock::now() + kTimeToExit;
  while (!process_.has_ended() && Clock::now() < deadline) {
    read_errors();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill();
}

Status ChildProcess::write_line(const std::string& line) {
  if (send_all(input_.get(), line + '\n')) return {};
  return io_error(std::string("writing to the child process: ") + std::strerror(errno));
}

std::optional<std::string> ChildProcess::next_buffered_line() {
  const std::size_t end = output_buffer_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = output_buffer_.substr(0, end);
  output_buffer_.erase(0, end + 1);
  return line;
}

// Reads only a limited amount, because a child that never stops writing must not keep its parent
// here.
void ChildProcess::read_errors() {
  for (int chunk = 0; chunk < 16 && error_.is_open() && receive(error_, error_buffer_); ++chunk) {
    if (error_buffer_.size() > kErrorBytes) {
      error_buffer_.erase(0, error_buffer_.size() - kErrorBytes);
    }
  }
}

Result<std::string> ChildProcess::read_line(Clock::time_point deadline) {
  while (true) {
    if (std::optional<std::string> line = next_buffered_line()) return *std::move(line);
    if (output_buffer_.size() > kMaxLineBytes) {
      return io_error(
          fmt::format("the child process wrote a line of over {} bytes", kMaxLineBytes));
    }
    if (!output_.is_open()) return io_error("the child process has ended");
    const bool late = Clock::now() >= deadline;
    read_errors();  // otherwise the child would block on a full pipe
    if (receive(output_, output_buffer_)) continue;
    if (late) return Status(StatusCode::timeout, "no line before the deadline");
    WaitSet waiting;
    waiting.add(output_.get());
    waiting.add(error_.get());
    waiting.add(deadline);
    waiting.wait();
  }
}

std::string ChildProcess::end_description() {
  wait_or_kill();
  return process_.end_description();
}

std::string ChildProcess::read_error_output() {
  read_errors();
  return std::exchange(error_buffer_, {});
}

}  // namespace mgtune

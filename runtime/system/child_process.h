// ChildProcess: this program started again as a worker, spoken to in lines. Move-only; one thread,
// the one that started it: the child is killed when that thread ends.
//
// The child leads a process group of its own: Ctrl-C on the terminal reaches the parent alone, and
// killing the child takes the compilers it runs with it.

#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "system/file_descriptor.h"

namespace mgtune {

class ChildProcess {
 public:
  // Runs `command` (a path first) with pipes on its standard input and output; what it writes on
  // standard error is kept (its last 64 KiB). environment when the program cannot be run.
  static Result<ChildProcess> start(const std::vector<std::string>& command);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();  // closes its input, waits a second for its end, kills it

  // io when the process has ended. One line of at most some KiB may be unread at a time, which the
  // socket's buffer holds: nothing here waits.
  Status write_line(const std::string& line);

  // The next line; timeout past the deadline (at once where it has passed and no line is there); io
  // when the process has ended or the line is over 16 MiB.
  Result<std::string> read_line(std::chrono::steady_clock::time_point deadline);

  // Readable when read_line() or error_output() has something new, the end included. -1 once ended.
  int output_descriptor() const { return output_.get(); }
  int error_descriptor() const { return error_.get(); }

  // Closes its input, which tells it to go. Where several end, telling all before the first is
  // waited for lets them end side by side: one that has loaded a compiler takes a while to go.
  void end_input() { input_.close(); }

  void kill();

  // After the end, or to wait for it: "exited with 1" or "killed by signal 11 (Segmentation
  // fault)". A process that has closed its output and does not go within a second is killed.
  std::string end_description();

  // After end_description(): a signal ended it that no program sends itself by a mistake (SIGKILL
  // of a machine short of memory, SIGTERM), and that kill() did not send.
  bool ended_from_outside() const;

  // What it wrote on standard error since the last call.
  std::string read_error_output();

 private:
  ChildProcess() = default;
  void swap(ChildProcess& other) noexcept;
  void drain_error();
  bool reap(bool wait);
  std::optional<std::string> next_buffered_line();

  pid_t pid_ = -1;
  FileDescriptor input_, output_, error_;
  std::string output_buffer_, error_buffer_;
  int wait_status_ = 0;
  bool reaped_ = true, killed_ = false;
};

}  // namespace mgtune

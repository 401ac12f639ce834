// ChildProcess: a long-lived process that reads and writes lines, for example this program started
// again as a worker. Move-only. Only the thread that started it may use it: the process is killed
// when this thread ends.

#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "system/cores.h"
#include "system/file_descriptor.h"
#include "system/process.h"

namespace mgtune {

class ChildProcess {
 public:
  // Runs `command` (a path first) with pipes on its standard input and output. The last 64 KiB that
  // it writes on standard error are kept. `cores` are the cores that it may use; empty: the same as
  // this process. environment if the program cannot be run.
  static Result<ChildProcess> start(const std::vector<std::string>& command,
                                    const Cores& cores = {});

  ChildProcess(ChildProcess&& other) noexcept = default;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();  // closes its input, waits a second for its end, kills it

  // io if the process has ended. Let at most a few lines of some KiB be unread at a time: they fit
  // into the socket's buffer (208 KiB), so write_line() does not wait.
  Status write_line(const std::string& line);

  // Returns the next line. timeout if no line has come by the deadline; if the deadline has passed
  // already, it does not wait. io if the process has ended or the line is over 16 MiB.
  Result<std::string> read_line(std::chrono::steady_clock::time_point deadline);

  // These descriptors become readable if read_line() or read_error_output() has something new, or
  // if the output has ended. They are -1 once the end was noticed.
  int output_descriptor() const { return output_.get(); }
  int error_descriptor() const { return error_.get(); }

  // Closes its input, which tells it to exit. If several processes are to exit, call this for all
  // of them before you wait for the first one, because a process that has loaded a compiler needs
  // some time to exit.
  void end_input() { input_.close(); }

  void kill() { process_.kill(); }

  pid_t pid() const { return process_.pid(); }  // -1 after the end

  // Waits for the end and describes it: "exited with 1", see Process. A process that has closed its
  // output and does not exit within a second is killed.
  std::string end_description();

  // After end_description(): see Process.
  bool ended_from_outside() const { return process_.ended_from_outside(); }

  // Returns what the process has written on standard error since the last call.
  std::string read_error_output();

 private:
  ChildProcess(Process process, FileDescriptor input, FileDescriptor output, FileDescriptor error)
      : process_(std::move(process)),
        input_(std::move(input)),
        output_(std::move(output)),
        error_(std::move(error)) {}
  void wait_or_kill();
  void read_errors();
  std::optional<std::string> next_buffered_line();

  Process process_;
  FileDescriptor input_, output_, error_;
  std::string output_buffer_, error_buffer_;
};

}  // namespace mgtune

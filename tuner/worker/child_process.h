// ChildProcess: this program started again as a worker, spoken to in lines. Move-only; one thread.

#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"

namespace mgtune {

class ChildProcess {
 public:
  // Runs `command` (absolute path first) with pipes on its standard input and output; what it writes on
  // standard error is kept (its last 16 KiB). It is killed when its parent dies.
  static Result<ChildProcess> start(const std::vector<std::string>& command);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();  // kills it, reaps it

  Status write_line(const std::string& line);

  // The next line; timeout past the deadline; io when the process has ended.
  Result<std::string> read_line(std::chrono::steady_clock::time_point deadline);
  std::optional<std::string> buffered_line();  // without waiting

  int output_descriptor() const { return output_; }  // readable: a line or the end is there
  void kill();

  // After the end: "exited with 1" or "killed by signal 11 (Segmentation fault)".
  std::string end_description();
  std::string error_output();  // what it wrote on standard error

 private:
  ChildProcess() = default;

  pid_t pid_ = -1;
  int input_ = -1, output_ = -1, error_ = -1;
  std::string output_buffer_, error_buffer_;
  int wait_status_ = 0;
  bool reaped_ = false;
};

}  // namespace mgtune

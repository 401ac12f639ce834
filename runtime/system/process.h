// Process: a program that this process has started, with an argument vector and never a shell. It
// leads a process group of its own, so Ctrl-C on the terminal does not reach it, and kill() also
// kills everything that it started. It inherits only the three standard descriptors that it is
// given. No signal is blocked in it.
//
// Move-only; one thread.

#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "system/cores.h"
#include "system/file_descriptor.h"

namespace mgtune {

struct ProcessCommand {
  std::vector<std::string> arguments;  // [0]: a path, or a name that PATH finds
  std::string directory;               // to run in; "": the directory of this process
  std::string temporary_folder;        // its TMPDIR, an absolute path; "": the one of this process
  // The processors that the program and all that it starts may use. If this is empty, or the system
  // refuses these processors, the program may use those of this process.
  Cores cores = {};
};

struct StandardDescriptors {
  int input, output, error;
};

class Process {
 public:
  // What happens if this process ends first.
  enum class Orphans : std::uint8_t {
    // The program is killed, also if only the thread that started it ends.
    kill_program,
    // The program and everything that it started are killed. For this, a fork of this process (the
    // keeper) starts the program and waits for it. If this process dies, the keeper kills them.
    kill_all,
  };

  // Returns as soon as the program runs. environment if it cannot be started.
  static Result<Process> start(const ProcessCommand& command,
                               const StandardDescriptors& descriptors, Orphans orphans);

  Process(Process&& other) noexcept;
  ~Process() { kill(); }

  // The first of these three functions that notices the end also kills what is left of the group.
  bool has_ended();
  void wait();
  void kill();  // and waits for the end

  pid_t pid() const { return pid_; }  // -1 after the end

  // After the end: the exit code, or 128 + signal if a signal ended it.
  int exit_code() const;
  // After the end: "exited with 1" or "killed by signal 11 (Segmentation fault)".
  std::string end_description() const;
  // After the end: whether a signal from outside ended it, for example SIGTERM from a user, or
  // SIGKILL from the kernel if memory ran out. False for the signals of its own mistakes (SIGSEGV,
  // SIGABRT) and for kill().
  bool ended_from_outside() const;

 private:
  explicit Process(pid_t pid) : pid_(pid) {}
  bool collect(int options);

  pid_t pid_;  // -1 after the end
  int wait_status_ = 0;
  bool killed_ = false;
};

struct Pipe {
  FileDescriptor reading, writing;
};

// Both ends are closed on exec, and the reading end does not block. The numbers of both ends are
// above those of the standard descriptors, even if this process has closed these. Otherwise text
// that the process prints would go into the pipe.
Result<Pipe> make_pipe();

// Moves a descriptor away from the numbers of the standard ones, see make_pipe().
FileDescriptor above_standard(FileDescriptor descriptor);

struct Subprocess : ProcessCommand {
  std::chrono::milliseconds deadline{60'000};
};

struct SubprocessOutcome {
  int exit_code;       // 128 + signal if a signal ended it
  std::string output;  // at most the first 4 MiB
};

// Runs a program to its end and brings back its output. Its standard output and error come back
// together; its input is empty. Everything that it started ends with this process (see
// Process::Orphans::kill_all). Thread-safe. environment if the program cannot be started, timeout
// if it was killed at its deadline together with everything that it started.
Result<SubprocessOutcome> run_subprocess(const Subprocess& command);

}  // namespace mgtune

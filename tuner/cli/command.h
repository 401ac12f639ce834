// Command: one subcommand of mgtune. A subcommand NAME is one file in commands/ that defines a
// Command and its function make_NAME_command(), and one line in the table of commands.cpp. The
// object holds its own arguments: declare() describes them, run() uses them. Main thread only.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_code.h"
#include "core/status.h"

namespace mgtune {

class ArgumentList;

// How the program was started.
struct Invocation {
  std::string program;       // absolute path, to start workers
  std::string command_line;  // as typed, quoted for a shell
};

class Command {
 public:
  virtual ~Command() = default;

  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;            // one line
  virtual std::string_view details() const { return ""; }  // below the options of --help: examples
  virtual bool hidden() const { return false; }  // not in the overview: only mgtune starts it

  virtual void declare(ArgumentList& arguments) = 0;

  // A Status becomes an error message and its exit_code().
  virtual Result<ExitCode> run(const Invocation& invocation) = 0;

 protected:
  Command() = default;
  Command(const Command&) = default;
  Command& operator=(const Command&) = default;
};

using Commands = std::vector<std::unique_ptr<Command>>;
Commands make_commands();  // in the order of the overview

}  // namespace mgtune

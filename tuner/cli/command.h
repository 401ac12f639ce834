// Command: one subcommand of mgtune. A subcommand is one file that defines a Command and its row in
// commands.cpp; nothing else knows it. The object holds its own arguments: declare() says what they
// are and where they go, run() uses them. The main thread alone has to do with it.

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
  virtual bool hidden() const { return false; }  // from the overview: started by mgtune itself

  virtual void declare(ArgumentList& arguments) = 0;

  // A Status becomes a message and its exit_code().
  virtual Result<ExitCode> run(const Invocation& invocation) = 0;

 protected:
  Command() = default;
  Command(const Command&) = default;
  Command& operator=(const Command&) = default;
};

using Commands = std::vector<std::unique_ptr<Command>>;
Commands make_commands();  // in the order of the overview

// One per subcommand, for commands.cpp.
std::unique_ptr<Command> make_sweep_command();
std::unique_ptr<Command> make_show_command();
std::unique_ptr<Command> make_report_command();
std::unique_ptr<Command> make_profile_command();
std::unique_ptr<Command> make_calibrate_command();
std::unique_ptr<Command> make_compare_command();
std::unique_ptr<Command> make_explain_command();
std::unique_ptr<Command> make_export_command();
std::unique_ptr<Command> make_import_command();
std::unique_ptr<Command> make_merge_command();
std::unique_ptr<Command> make_pack_command();
std::unique_ptr<Command> make_simulate_command();
std::unique_ptr<Command> make_list_command();
std::unique_ptr<Command> make_devices_command();
std::unique_ptr<Command> make_doctor_command();
std::unique_ptr<Command> make_cache_command();
std::unique_ptr<Command> make_worker_command();
std::unique_ptr<Command> make_watch_command();

}  // namespace mgtune

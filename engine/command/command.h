// Command: one subcommand of mgengine. A subcommand NAME is a file NAME_command.cpp that defines
// make_NAME_command(), and one line in the table of commands.cpp. declare() describes the
// arguments, run() uses them. Main thread only.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/status.h"

namespace CLI {
class App;
}  // namespace CLI

namespace mgtune::engine {

// The arguments of a subcommand. Only parse.cpp, which implements this class, includes CLI11. The
// value that a variable has before parsing is its default. The variables must exist until parsing
// has ended.
class ArgumentList {
 public:
  explicit ArgumentList(CLI::App& app) : app_(app) {}

  void flag(const std::string& name, bool& variable, const std::string& help);
  void value(const std::string& name, std::string& variable, const std::string& placeholder,
             const std::string& help);
  void required(const std::string& name, std::string& variable, const std::string& placeholder,
                const std::string& help);
  void integer(const std::string& name, std::uint32_t& variable, std::uint32_t min,
               std::uint32_t max, const std::string& help);
  void seed(const std::string& name, std::uint64_t& variable, const std::string& help);
  void number(const std::string& name, double& variable, double min, double max,
              const std::string& help);
  void choice(const std::string& name, std::string& variable,
              const std::vector<std::string>& choices, const std::string& placeholder,
              const std::string& help);
  // Declares a positional argument, which must be one of the choices.
  void word(const std::string& name, std::string& variable, const std::vector<std::string>& choices,
            const std::string& help);

 private:
  CLI::App& app_;
};

class Command {
 public:
  virtual ~Command() = default;
  virtual std::string details() const = 0;  // examples; --help prints them below the options
  virtual void declare(ArgumentList& arguments) = 0;
  virtual Result<int> run() = 0;  // the exit code
};

struct NamedCommand {
  std::string name;
  std::string summary;  // one line
  std::unique_ptr<Command> command;
};
std::vector<NamedCommand> make_commands();

// Returns the subcommand that argv names, with its arguments set. If argv asks for --help or
// --version, or is empty, parse() prints the text and returns null. invalid_argument for wrong
// words.
Result<Command*> parse(int argc, const char* const* argv,
                       const std::vector<NamedCommand>& commands);

// 0 success, 1 a check failed, 2 an argument is wrong, 4 the machine lacks something, 5 a file is
// missing or damaged, 70 a bug.
int exit_code(StatusCode code);

}  // namespace mgtune::engine

// Command: one subcommand of mgtune. A subcommand NAME consists of one file in commands/, which
// defines a Command and the function make_NAME_command(), and of one line in the table of
// commands.cpp. The object holds its own arguments: declare() describes them, run() uses them. Main
// thread only.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "core/status.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace mgtune {

struct ResultFilter;

// The words that completion offers for a value, by option.
using ProposedWords = std::map<const CLI::Option*, std::vector<std::string>>;

// The arguments of a subcommand. parse.cpp implements this class. It is the only file that includes
// CLI11, which takes 3.6 s to compile.
class ArgumentList {
 public:
  ArgumentList(CLI::App& app, ProposedWords& proposed) : app_(app), proposed_(proposed) {}

  // `name` is "--gpu" or "-o,--output"; `placeholder` stands for the value in --help. The value
  // that a variable has now is its default. The variables must exist until parsing has ended.
  void flag(const std::string& name, bool& variable, const std::string& help);
  void value(const std::string& name, std::string& variable, const std::string& placeholder,
             const std::string& help);
  void required(const std::string& name, std::string& variable, const std::string& placeholder,
                const std::string& help);
  void integer(const std::string& name, std::uint64_t& variable, const std::string& placeholder,
               const std::string& help);

  // A value that must be one of `choices`. Any other word is refused, and the message lists the
  // choices.
  void choice(const std::string& name, std::string& variable,
              const std::vector<std::string>& choices, const std::string& placeholder,
              const std::string& help);

  // The options that many subcommands share. The kernel may also be given without --kernel, after
  // the other arguments that have no option name.
  void kernel(std::string& variable, const std::string& placeholder, const std::string& help);
  void required_kernel(std::string& variable, const std::string& placeholder,
                       const std::string& help);
  void gpu(std::string& variable, const std::string& help);  // --gpu
  void database(std::string& variable);                      // --db
  void json(bool& variable);                                 // --json
  void kernel_and_gpu(ResultFilter& filter);

  // An option that may be repeated.
  void values(const std::string& name, std::vector<std::string>& variable,
              const std::string& placeholder, const std::string& help);

  // Arguments without an option name, in order. If `choices` is not empty, the word must be one of
  // them.
  void word(const std::string& name, std::string& variable, const std::vector<std::string>& choices,
            const std::string& help);
  void optional_word(const std::string& name, std::string& variable, const std::string& help);
  void words(const std::string& name, std::vector<std::string>& variable, const std::string& help);

 private:
  CLI::App& app_;
  ProposedWords& proposed_;
};

// How the program was started.
struct Invocation {
  std::string program;       // absolute path, to start workers
  std::string command_line;  // as typed, quoted for a shell
};

class Command {
 public:
  virtual ~Command() = default;

  virtual std::string details() const { return ""; }  // below the options of --help: examples
  virtual bool hidden() const { return false; }       // not in the overview: only mgtune starts it

  virtual void declare(ArgumentList& arguments) = 0;

  // A Status becomes an error message and its exit_code().
  virtual Result<ExitCode> run(const Invocation& invocation) = 0;
};

struct NamedCommand {
  std::string name, summary;  // the summary is one line
  std::unique_ptr<Command> command;
};
using Commands = std::vector<NamedCommand>;
Commands make_commands();  // in the order of the overview

// Finds the subcommand that argv names, and fills in its arguments. Called once, before any other
// thread runs. `commands` must outlive the result. Null if argv asks for --help or --version, or is
// empty: then the text has been printed. invalid_argument for wrong words, with "did you mean" for
// one that looks misspelt. An option with an empty value is wrong too.
Result<Command*> parse(int argc, const char* const* argv, const Commands& commands);

}  // namespace mgtune

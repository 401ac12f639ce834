#include <algorithm>
#include <filesystem>
#include <iostream>

#include "cli/command.h"
#include "cli/output/man_page.h"
#include "cli/usage.h"
#include "core/text.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

class HelpCommand final : public Command {
 public:
  std::string details() const override {
    return "Without COMMAND, the overview of all commands is printed.\n"
           "Examples:\n"
           "  mgtune help sweep\n"
           "  mgtune help sweep --man | man -l -";
  }
  void declare(ArgumentList& arguments) override {
    arguments.optional_word("COMMAND", command_, "The command to describe");
    arguments.flag("--man", as_man_page_, "Print the man page instead of the help text");
    arguments.value("-o,--output", output_, "DIR",
                    "Write the man pages of all commands into this folder");
  }
  Result<ExitCode> run(const Invocation&) override {
    const std::vector<CommandUsage> commands = describe_commands();
    if (!output_.empty()) return write_all(commands);
    const auto found = std::ranges::find(commands, command_, &CommandUsage::name);
    if (found == commands.end()) {
      std::vector<std::string> names;
      for (const CommandUsage& command : commands) {
        if (!command.is_hidden && !command.name.empty()) names.push_back(command.name);
      }
      return invalid_argument("unknown command '" + command_ + "'" +
                              must_be_one_of(command_, names));
    }
    std::cout << (as_man_page_ ? man_page(*found, commands) : found->help);
    return ExitCode::ok;
  }

 private:
  Result<ExitCode> write_all(const std::vector<CommandUsage>& commands) const {
    if (!as_man_page_ || !command_.empty()) {
      return invalid_argument("--output goes with --man, and without COMMAND");
    }
    for (const CommandUsage& command : commands) {
      if (command.is_hidden) continue;
      const std::string path = (std::filesystem::path(output_) / man_page_file(command)).string();
      MGTUNE_TRY(write_output(path, "the man page", man_page(command, commands)));
    }
    return ExitCode::ok;
  }

  std::string command_, output_;
  bool as_man_page_ = false;
};

}  // namespace

std::unique_ptr<Command> make_help_command() { return std::make_unique<HelpCommand>(); }

}  // namespace mgtune

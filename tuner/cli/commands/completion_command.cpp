#include <iostream>

#include "cli/command.h"
#include "cli/output/completion.h"
#include "cli/usage.h"

namespace mgtune {
namespace {

class CompletionCommand final : public Command {
 public:
  std::string details() const override {
    return "An installed mgtune has these scripts where the shells look for them.\n"
           "Examples:\n"
           "  mgtune completion bash > ~/.local/share/bash-completion/completions/mgtune\n"
           "  mgtune completion fish > ~/.config/fish/completions/mgtune.fish";
  }
  void declare(ArgumentList& arguments) override {
    std::vector<std::string> shells;
    for (const CompletionShell& shell : completion_shells()) shells.emplace_back(shell.name);
    arguments.word("SHELL", shell_, shells, "bash, zsh or fish");
  }
  Result<ExitCode> run(const Invocation&) override {
    for (const CompletionShell& shell : completion_shells()) {
      if (shell.name == shell_) std::cout << shell.script(describe_commands());
    }
    return ExitCode::ok;
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> make_completion_command() { return std::make_unique<CompletionCommand>(); }

}  // namespace mgtune

#include "command/command.h"

// The subcommands with their summaries, in the order of `mgengine --help`.
#define MGENGINE_COMMANDS(COMMAND)                                      \
  COMMAND(generate, "Continue a text with a model")                     \
  COMMAND(bench, "Measure the time per token, and of each instruction") \
  COMMAND(tune, "Choose the variants of kernels by the time per token") \
  COMMAND(verify, "Check the programs of a model, and their results")   \
  COMMAND(show, "Print the program of a model, or its kernels")

#define MGENGINE_DECLARE_COMMAND(name, summary) std::unique_ptr<Command> make_##name##_command();
#define MGENGINE_ADD_COMMAND(name, summary) \
  commands.push_back({#name, summary, make_##name##_command()});

namespace mgtune::engine {

MGENGINE_COMMANDS(MGENGINE_DECLARE_COMMAND)

std::vector<NamedCommand> make_commands() {
  std::vector<NamedCommand> commands;
  MGENGINE_COMMANDS(MGENGINE_ADD_COMMAND)
  return commands;
}

int exit_code(StatusCode code) {
  switch (code) {
    case StatusCode::ok:
      return 0;
    case StatusCode::invalid_argument:
    case StatusCode::not_found:
    case StatusCode::unsupported:
      return 2;
    case StatusCode::corrupt:
    case StatusCode::incompatible:
    case StatusCode::io:
      return 5;
    case StatusCode::internal:
      return 70;
    default:
      return 4;
  }
}

}  // namespace mgtune::engine

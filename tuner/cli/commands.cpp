#include "cli/command.h"

// The subcommands, one per line, in the order of the overview of `mgtune --help`.
#define MGTUNE_COMMANDS(COMMAND) \
  COMMAND(sweep)                 \
  COMMAND(show)                  \
  COMMAND(report)                \
  COMMAND(profile)               \
  COMMAND(calibrate)             \
  COMMAND(compare)               \
  COMMAND(explain)               \
  COMMAND(export)                \
  COMMAND(import)                \
  COMMAND(merge)                 \
  COMMAND(pack)                  \
  COMMAND(simulate)              \
  COMMAND(list)                  \
  COMMAND(devices)               \
  COMMAND(doctor)                \
  COMMAND(cache)                 \
  COMMAND(worker)                \
  COMMAND(watch)

#define MGTUNE_DECLARE_COMMAND(name) std::unique_ptr<Command> make_##name##_command();
#define MGTUNE_ADD_COMMAND(name) commands.push_back(make_##name##_command());

namespace mgtune {

MGTUNE_COMMANDS(MGTUNE_DECLARE_COMMAND)

Commands make_commands() {
  Commands commands;
  MGTUNE_COMMANDS(MGTUNE_ADD_COMMAND)
  return commands;
}

}  // namespace mgtune

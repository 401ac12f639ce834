#include "cli/command.h"

// The subcommands with their summaries, one per line, in the order of the overview of
// `mgtune --help`.
#define MGTUNE_COMMANDS(COMMAND)                                                         \
  COMMAND(new, "Write a kernel family of your own, also from a kernel that you have")    \
  COMMAND(check, "Find mistakes in the files of a kernel before a sweep")                \
  COMMAND(sweep, "Find the fastest variant of a kernel for each problem")                \
  COMMAND(show, "Print the results of sweeps")                                           \
  COMMAND(run, "Run one variant once: its errors, its time, a debugger on it")           \
  COMMAND(report, "Write all results as one HTML page")                                  \
  COMMAND(profile, "Read hardware counters for one variant of one problem")              \
  COMMAND(calibrate, "Measure the limits of a GPU: bandwidth by size, arithmetic peaks") \
  COMMAND(compare, "Compare the times of two runs")                                      \
  COMMAND(peers, "Add or list the times of other implementations")                       \
  COMMAND(fit, "Make rules that choose variants for problems that nobody tuned")         \
  COMMAND(explain, "Say which variant a program would run for a problem, and why")       \
  COMMAND(export, "Write results as text: tuned tables or recordings")                   \
  COMMAND(import, "Add exported results to the database")                                \
  COMMAND(merge, "Merge the databases of a sweep's shards")                              \
  COMMAND(fleet, "Tune on a Slurm cluster: write its jobs, say how far they are")        \
  COMMAND(header, "Write typed C and C++ functions for the operators of a family")       \
  COMMAND(pack, "Write one file to ship: tuned variants and their builds")               \
  COMMAND(simulate, "Replay a recorded space with a search strategy; no GPU needed")     \
  COMMAND(list, "List the kernels that can be swept: operators, designs, parameters")    \
  COMMAND(devices, "List the devices of this machine")                                   \
  COMMAND(doctor, "Say what mgtune needs, and what of it this machine has")              \
  COMMAND(cache, "Show or clear the cache of compiled builds")                           \
  COMMAND(help, "Describe a command, or print its man page")                             \
  COMMAND(completion, "Print the completion script of a shell")                          \
  COMMAND(worker, "A child process of a sweep")                                          \
  COMMAND(watch, "Serve the page of a running sweep")

#define MGTUNE_DECLARE_COMMAND(name, summary) std::unique_ptr<Command> make_##name##_command();
#define MGTUNE_ADD_COMMAND(name, summary) \
  commands.push_back({#name, summary, make_##name##_command()});

namespace mgtune {

MGTUNE_COMMANDS(MGTUNE_DECLARE_COMMAND)

Commands make_commands() {
  Commands commands;
  MGTUNE_COMMANDS(MGTUNE_ADD_COMMAND)
  return commands;
}

}  // namespace mgtune

// The program mgengine: parses the words, runs the subcommand, turns a failure into a message and
// an exit code.

#include <signal.h>

#include <cstdio>
#include <exception>
#include <iostream>

#include "command/command.h"
#include "json/json_place.h"
#include "system/file_system.h"

namespace mgtune::engine {
namespace {

int fail(const Status& status) {
  std::cout.flush();
  std::cerr << "mgengine: " << with_json_place(status.message(), FileSystem::real()) << '\n';
  return exit_code(status.code());
}

int run(int argc, const char* const* argv) {
  const std::vector<NamedCommand> commands = make_commands();
  const Result<Command*> command = parse(argc, argv, commands);
  if (!command.ok()) return fail(command.status());
  if (*command == nullptr) return 0;
  const Result<int> code = (*command)->run();
  if (!code.ok()) return fail(code.status());
  std::cout.flush();
  if (!std::cout) return fail(io_error("cannot write to standard output"));
  return *code;
}

}  // namespace
}  // namespace mgtune::engine

int main(int argc, char** argv) {
  ::signal(SIGXFSZ, SIG_IGN);  // a file above `ulimit -f` is an error, not the end of the process
  try {
    return mgtune::engine::run(argc, argv);
  } catch (const std::exception& error) {  // out of memory; our own code throws nothing
    std::fprintf(stderr, "mgengine: internal error: %s\n", error.what());
    return 70;
  }
}

// The mgtune program: parses the arguments, runs the subcommand, and turns a failure into a message
// and an exit code.

#include <signal.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>

#include "cli/command.h"
#include "core/text.h"
#include "json/json_place.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

int fail(const Status& status) {
  std::cout.flush();
  std::cerr << "mgtune: " << with_json_place(status.message(), FileSystem::real()) << '\n';
  return static_cast<int>(exit_code(status.code()));
}

Result<Invocation> describe_invocation(int argc, const char* const* argv) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return environment_error("cannot read /proc/self/exe: " + error.message());
  Invocation invocation{program.string(), "mgtune"};
  for (int i = 1; i < argc; ++i) invocation.command_line += " " + shell_word(argv[i]);
  return invocation;
}

int run(int argc, const char* const* argv) {
  const Commands commands = make_commands();
  const Result<Command*> command = parse(argc, argv, commands);
  if (!command.ok()) return fail(command.status());
  if (*command == nullptr) return 0;
  const Result<Invocation> invocation = describe_invocation(argc, argv);
  if (!invocation.ok()) return fail(invocation.status());
  const Result<ExitCode> code = (*command)->run(*invocation);
  if (!code.ok()) return fail(code.status());
  std::cout.flush();
  if (!std::cout) return fail(io_error("cannot write to standard output"));
  return static_cast<int>(*code);
}

}  // namespace
}  // namespace mgtune

int main(int argc, char** argv) {
  ::signal(SIGXFSZ, SIG_IGN);  // a file over `ulimit -f` is an error, like a full disk
  try {
    return mgtune::run(argc, argv);
  } catch (const std::exception& error) {  // out of memory; our own code does not throw
    std::fprintf(stderr, "mgtune: internal error: %s\n", error.what());
    return static_cast<int>(mgtune::ExitCode::internal);
  }
}

#include "plan/engine_program.h"

#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "system/process.h"

namespace mgtune {
namespace {

// The exit codes of mgengine (engine/command/command.h).
StatusCode engine_failure(int exit_code) {
  if (exit_code == 2) return StatusCode::invalid_argument;
  if (exit_code == 5) return StatusCode::io;
  return StatusCode::environment;
}

}  // namespace

Result<EngineProgram> EngineProgram::beside(const std::string& mgtune) {
  const std::string path = (std::filesystem::path(mgtune).parent_path() / "mgengine").string();
  if (::access(path.c_str(), X_OK) == 0) return EngineProgram(path);
  return environment_error(
      "--model needs the program mgengine, which knows the kernels of models: " + path +
      " does not exist or cannot be run");
}

std::vector<std::string> EngineProgram::words(const std::vector<std::string>& command,
                                              const EngineModel& model) const {
  std::vector<std::string> words = {path_};
  words.insert(words.end(), command.begin(), command.end());
  words.insert(words.end(),
               {"--model", model.model, "--dtype", model.dtype, "--batch",
                std::to_string(model.batch), "--capacity", std::to_string(model.capacity)});
  if (!model.positions.empty()) words.insert(words.end(), {"--positions", model.positions});
  return words;
}

Status EngineProgram::record_kernels(const EngineModel& model, const std::string& file) const {
  Subprocess command;
  command.arguments = words({"show", "kernels", "--output", file}, model);
  MGTUNE_ASSIGN(const SubprocessOutcome outcome, run_subprocess(command));
  if (outcome.exit_code == 0) return {};
  std::string_view message = outcome.output;
  while (message.ends_with('\n')) message.remove_suffix(1);
  return {engine_failure(outcome.exit_code), "--model: " + std::string(message)};
}

Result<int> EngineProgram::tune(const EngineModel& model, const std::string& device,
                                const std::string& database) const {
  ProcessCommand command;
  // The speed does not depend on the values of weights.
  command.arguments =
      words({"tune", "--random-weights", "--device", device, "--db", database}, model);
  MGTUNE_ASSIGN(Process process,
                Process::start(command, {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO},
                               Process::Orphans::kill_all));
  process.wait();
  return process.exit_code();
}

}  // namespace mgtune

// The child processes that a sweep starts; worker/protocol.h says what they speak.

#include "cli/argument_list.h"
#include "cli/command.h"
#include "worker/worker.h"

namespace mgtune {
namespace {

class WorkerCommand final : public Command {
 public:
  std::string_view name() const override { return "worker"; }
  std::string_view summary() const override { return "A child process of a sweep"; }
  bool hidden() const override { return true; }
  void declare(ArgumentList& arguments) override {
    arguments.word("KIND", kind_, {"measure", "compile"}, "What it does");
    arguments.words("DEVICE", device_, "Id of the device to measure on");
  }
  Result<ExitCode> run(const Invocation&) override {
    if (kind_ == "compile") {
      MGTUNE_TRY(run_compile_worker());
      return ExitCode::ok;
    }
    if (device_.size() != 1) return invalid_argument("worker measure: expected one device id");
    MGTUNE_TRY(run_measure_worker(device_.front()));
    return ExitCode::ok;
  }

 private:
  std::string kind_;
  std::vector<std::string> device_;
};

}  // namespace

std::unique_ptr<Command> make_worker_command() { return std::make_unique<WorkerCommand>(); }

}  // namespace mgtune

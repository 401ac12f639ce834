// The child processes that a sweep starts (worker/protocol.h has their protocol), and the program
// that replaces a sweep which a signal ends (cli/interrupt.h).

#include <signal.h>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "compile/compile_worker.h"
#include "core/text.h"
#include "family_check/trial.h"
#include "measure/timing_method_probe.h"
#include "timing/gpu_timer.h"
#include "worker/worker.h"

namespace mgtune {
namespace {

class WorkerCommand final : public Command {
 public:
  bool hidden() const override { return true; }
  void declare(ArgumentList& arguments) override {
    arguments.word("KIND", kind_, {"measure", "count", "compile", "method", "trial", "leave"},
                   "The task of the process");
    arguments.words("WORDS", words_,
                    "measure: DEVICE METHOD [REASON]; count: DEVICE; compile: TARGET; trial: "
                    "REQUEST; leave: CODE "
                    "DATABASE");
  }
  Result<ExitCode> run(const Invocation&) override {
    if (kind_ == "compile") {
      if (words_.size() != 1) return invalid_argument("worker compile: expected a device");
      MGTUNE_ASSIGN(DeviceInfo device, decode_compile_target(words_[0]));
      MGTUNE_TRY(run_compile_worker(std::move(device)));
      return ExitCode::ok;
    }
    if (kind_ == "method") {
      write_timing_method(default_gpu_method());
      return ExitCode::ok;
    }
    if (kind_ == "count") {
      if (words_.size() != 1) return invalid_argument("worker count: expected a device's id");
      MGTUNE_TRY(run_count_worker(words_[0]));
      return ExitCode::ok;
    }
    if (kind_ == "trial") {
      if (words_.size() != 1) return invalid_argument("worker trial: expected a request");
      MGTUNE_TRY(run_trial_worker(words_[0]));
      return ExitCode::ok;
    }
    if (kind_ == "leave") return leave();
    if (words_.size() < 2 || words_.size() > 3) {
      return invalid_argument("worker measure: expected a device's id, a method and its reason");
    }
    MGTUNE_TRY(run_measure_worker(words_[0], {words_[1], words_.size() > 2 ? words_[2] : ""}));
    return ExitCode::ok;
  }

 private:
  Result<ExitCode> leave() const {
    const auto code = words_.size() == 2 ? parse_number<int>(words_[0]) : std::nullopt;
    if (!code) return invalid_argument("worker leave: expected an exit code and a database");
    leave_nothing_behind(words_[1]);
    return static_cast<ExitCode>(*code);
  }

  std::string kind_;
  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Command> make_worker_command() { return std::make_unique<WorkerCommand>(); }

}  // namespace mgtune

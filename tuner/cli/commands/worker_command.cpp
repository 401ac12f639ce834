// The child processes that a sweep starts (worker/protocol.h has their protocol), and the program
// that replaces a sweep when a signal ends it (cli/interrupt.h).

#include <signal.h>

#include <cstdio>
#include <iostream>
#include <optional>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output/run_output.h"
#include "compile/compile_worker.h"
#include "core/text.h"
#include "debug/quiet_output.h"
#include "debug/single_run.h"
#include "family_check/trial.h"
#include "measure/timing_method_probe.h"
#include "system/file_system.h"
#include "timing/gpu_timer.h"
#include "worker/work_item.h"
#include "worker/worker.h"

namespace mgtune {
namespace {

class WorkerCommand final : public Command {
 public:
  bool hidden() const override { return true; }
  void declare(ArgumentList& arguments) override {
    arguments.word("KIND", kind_,
                   {"measure", "count", "compile", "method", "run", "trial", "leave"},
                   "The task of the process");
    arguments.words("WORDS", words_,
                    "measure: DEVICE METHOD [REASON]; count: DEVICE; compile: TARGET; run: DEVICE "
                    "KERNEL OPERATOR PROBLEM VARIANT [json]; trial: REQUEST; leave: CODE DATABASE");
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
    if (kind_ == "run") return run_once();
    if (kind_ == "leave") return leave();
    if (words_.size() < 2 || words_.size() > 3) {
      return invalid_argument("worker measure: expected a device's id, a method and its reason");
    }
    MGTUNE_TRY(run_measure_worker(words_[0], {words_[1], words_.size() > 2 ? words_[2] : ""}));
    return ExitCode::ok;
  }

 private:
  // The child process of `mgtune run`.
  Result<ExitCode> run_once() const {
    const bool json = words_.size() == 6 && words_.back() == "json";
    if (words_.size() != 5 && !json) {
      return invalid_argument("worker run: expected a device, a kernel and what to run of it");
    }
    // Flushes each line, so that a kernel's output is not lost if the kernel crashes afterwards.
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    Catalog catalog(FileSystem::real());
    MGTUNE_ASSIGN(const WorkItem item,
                  bind_request(catalog, {words_[1], words_[2], words_[3]}, words_[4]));
    std::optional<QuietOutput> quiet;
    if (json) {
      MGTUNE_ASSIGN(QuietOutput on_errors, QuietOutput::begin_on_errors());
      quiet.emplace(std::move(on_errors));
    }
    MGTUNE_ASSIGN(const SingleRun run, run_variant(words_[0], item.problem, item.variant,
                                                   DebugInfo::none, RunSteps::check_and_time));
    quiet.reset();
    std::cout << (json ? run_json(words_[0], item.problem, words_[4], run)
                       : run_text(item.problem, words_[4], run));
    return run_exit_code(run.outcome);
  }

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

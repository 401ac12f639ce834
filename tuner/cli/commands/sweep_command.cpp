#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <optional>
#include <thread>

#include "build/build_cache.h"
#include "cli/argument_list.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/leave.h"
#include "cli/output/progress.h"
#include "cli/output/sweep_output.h"
#include "cli/output/watch_page.h"
#include "cli/stored_results.h"
#include "cli/sweep_plan.h"
#include "sweep/device_lock.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

using Clock = std::chrono::steady_clock;

// Compilers compete with the worker's host side for cores and need some hundred MB each.
constexpr unsigned kMostCompileProcesses = 16;

class SweepCommand final : public Command {
 public:
  std::string_view name() const override { return "sweep"; }
  std::string_view summary() const override {
    return "Find the fastest variant of a kernel for each problem";
  }
  std::string_view details() const override;
  void declare(ArgumentList& arguments) override;
  Result<ExitCode> run(const Invocation& invocation) override;

 private:
  Result<ExitCode> sweep_all(const std::vector<SweepPlan>& plans,
                             const Invocation& invocation) const;
  SweepOptions options(const SweepPlan& plan, const Invocation& invocation) const;
  Result<FinishedSweep> sweep(const SweepPlan& plan, const Invocation& invocation, Store& store,
                              const std::function<Status()>& on_locked) const;
  Result<ExitCode> finish(const std::vector<FinishedSweep>& sweeps, Store& store) const;

  SweepWords words_;
};

std::string_view SweepCommand::details() const {
  return "Without --problem and --shapes: the operators' own problems, small ones on the cpu "
         "device.\n"
         "The same command again goes on where it was stopped and repeats nothing that is known.\n"
         "A family given as a folder is compiled and run as native code with your rights: sweep "
         "only\n"
         "what you trust.\n"
         "GPUs of one model (--gpu all, --gpu 0,1) share the work; models take turns.\n"
         "Examples:\n"
         "  mgtune sweep --kernel rmsnorm --gpu L4\n"
         "  mgtune sweep --kernel rmsnorm.forward --dtype bf16 --problem rows=4096,hidden=8192\n"
         "  mgtune sweep --kernel path/to/my_family/ --gpu auto --budget 5m\n"
         "  MGTUNE_RECORD=shapes.jsonl ./program && mgtune sweep --shapes shapes.jsonl";
}

void SweepCommand::declare(ArgumentList& arguments) {
  arguments.value("--kernel", words_.kernel, "NAME|DIR",
                  "Family or operator (rmsnorm, rmsnorm.forward), or a family's folder; needed "
                  "unless a recording names the operators");
  arguments.value(
      "--gpu", words_.gpu, "NAME",
      "L4, an index, a UUID, several with commas, all, cpu, or auto: a GPU if there is one, "
      "else cpu");
  arguments.value("--dtype", words_.dtype, "LIST", "Only these dtypes: bf16,f16,f32");
  arguments.values("--problem", words_.problems, "DIMS",
                   "rows=4096,hidden=4096 (may stand several times)");
  arguments.value(
      "--shapes", words_.shapes, "NAME|FILE",
      "The problems of a model (llama-3.1-8b), of a file like configs/shapes/*.json, or those that "
      "a program recorded (MGTUNE_RECORD)");
  arguments.value("--strategy", words_.strategy, "NAME",
                  "adaptive, random or exhaustive (default: exhaustive where the budget covers the "
                  "space, else adaptive)");
  arguments.integer("--seed", words_.seed, "N", "Of a strategy's random choices");
  arguments.value("--budget", words_.budget, "N|TIME",
                  "Variants a problem (500) or time of the sweep (60s, 10m, 1h); default 10m, "
                  "1m on the cpu device");
  arguments.value("--target", words_.target, "X",
                  "Also end a problem when a further gain of 1-X is unlikely (0.98: 2 %)");
  arguments.value(
      "--method", words_.method, "NAME",
      "How a GPU's variants are timed: rotating (default: no data in the L2 cache), cold, "
      "hot, or graph, which suits kernels under 20 us");
  arguments.value("--db", words_.database, "FILE", "Database of results (default: the user's)");
  arguments.value("--shard", words_.shard, "I/N",
                  "Only part I of N, into a file of its own beside the database, for mgtune merge "
                  "(default: the task of a Slurm job array)");
  arguments.flag("--counters", words_.counters,
                 "Count what the hardware does for the finalists (needs the privilege to profile)");
  arguments.flag("--watch", words_.watch,
                 "Serve the report on this machine while the sweep runs, and say at which URL");
  arguments.flag("--dry-run", words_.dry_run, "Say what would be done and stop");
  arguments.flag("--json", words_.json, "Print the result as JSON");
}

Result<ExitCode> SweepCommand::run(const Invocation& invocation) {
  Catalog catalog(FileSystem::real());
  MGTUNE_ASSIGN(const std::vector<SweepPlan> plans,
                make_sweep_plans(words_, catalog, invocation.program));
  if (words_.dry_run) {
    for (const SweepPlan& plan : plans) std::cerr << announcement(plan);
    std::cout << (words_.json ? dry_run_json(plans) : dry_run_table(plans));
    return ExitCode::ok;
  }
  Result<ExitCode> code = sweep_all(plans, invocation);
  leave_nothing_behind("");  // a compile worker that was busy at the end was killed
  return code;
}

Result<ExitCode> SweepCommand::sweep_all(const std::vector<SweepPlan>& plans,
                                         const Invocation& invocation) const {
  MGTUNE_ASSIGN(std::string path, database_path(words_.database));
  if (plans.front().shard.has_value()) path = plans.front().shard->path(path);
  MGTUNE_ASSIGN(Store store, Store::open(path, Store::Mode::read_write));
  if (const Status cache = BuildCache::check(BuildCache::default_directory()); !cache.ok()) {
    std::cerr << "mgtune: warning: builds are not cached: " << cache.message() << "\n";
  }
  install_interrupt_handlers(path);
  std::optional<WatchPage> watch;  // ends before the store closes, which folds its log
  const auto serve_page = [&]() -> Status {
    if (!words_.watch || watch.has_value()) return {};
    MGTUNE_ASSIGN(watch, WatchPage::start(invocation.program, path, words_.kernel));
    std::cerr << "watch it at " << watch->url() << "\n";
    return {};
  };
  std::vector<FinishedSweep> sweeps;
  for (const SweepPlan& plan : plans) {
    if (interrupted()) break;
    MGTUNE_ASSIGN(const std::string warm_start, warm_start_text(plan, store));
    std::cerr << announcement(plan) << warm_start;
    MGTUNE_ASSIGN(FinishedSweep finished, sweep(plan, invocation, store, serve_page));
    std::cerr << summary_text(finished, words_, store);
    sweeps.push_back(std::move(finished));
  }
  stop_interrupt_timer();
  if (watch.has_value() && !interrupted()) watch->finish();
  return finish(sweeps, store);
}

SweepOptions SweepCommand::options(const SweepPlan& plan, const Invocation& invocation) const {
  SweepOptions options;
  options.kernel = words_.kernel;
  options.strategy = plan.strategy;
  options.seed = words_.seed;
  options.budget = plan.budget;
  options.target = plan.target;
  options.method = plan.method;
  options.counters = words_.counters;
  options.command = invocation.command_line;
  // What the batch system said belongs to what can be repeated.
  if (plan.shard.has_value() && words_.shard.empty()) {
    options.command += " --shard " + plan.shard->text();
  }
  options.program = invocation.program;
  options.cache_directory = BuildCache::default_directory();
  options.lock_directory = DeviceLock::default_directory(plan.device.kind);
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  options.compile_processes = std::min(cores, kMostCompileProcesses);
  return options;
}

Result<FinishedSweep> SweepCommand::sweep(const SweepPlan& plan, const Invocation& invocation,
                                          Store& store,
                                          const std::function<Status()>& on_locked) const {
  SweepOptions options = this->options(plan, invocation);
  options.on_locked = on_locked;
  const Clock::time_point start = Clock::now();
  ProgressPrinter printer(std::cerr, progress_style(), terminal_columns(), start);
  Result<SweepSummary> summary = run_sweep(
      options, plan.devices, plan.problems, store,
      [&](const SweepProgress& progress) { printer.update(progress, Clock::now()); }, interrupted);
  printer.clear();
  if (!summary.ok()) return std::move(summary).take_status();
  const std::chrono::duration<double> elapsed = Clock::now() - start;
  return FinishedSweep{&plan, *std::move(summary), elapsed.count()};
}

Result<ExitCode> SweepCommand::finish(const std::vector<FinishedSweep>& sweeps,
                                      Store& store) const {
  std::int64_t failed = 0;
  std::int64_t unserved = 0;
  std::int64_t problems = 0;
  std::string devices;
  for (const FinishedSweep& sweep : sweeps) {
    failed += failed_variants(sweep.summary);
    unserved += sweep.summary.unserved;
    problems += sweep.summary.problems;
    devices += (devices.empty() ? "" : ", ") + device_text(*sweep.plan);
    if (words_.json) continue;
    MGTUNE_ASSIGN(const std::string table, picks_of(sweep.summary, store));
    std::cout << table;
  }
  if (words_.json) {
    MGTUNE_ASSIGN(const std::string json, sweep_json(sweeps, store));
    std::cout << json;
  }
  if (interrupted()) return interrupt_exit_code();
  if (problems > 0 && unserved == problems) {
    return environment_error("none of the problems can run on " + devices);
  }
  return failed > 0 || unserved > 0 ? ExitCode::partial : ExitCode::ok;
}

}  // namespace

std::unique_ptr<Command> make_sweep_command() { return std::make_unique<SweepCommand>(); }

}  // namespace mgtune

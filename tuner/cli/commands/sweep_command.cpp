#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <iostream>
#include <optional>
#include <utility>

#include "build/build_cache.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output/progress.h"
#include "cli/output/sweep_output.h"
#include "cli/output/sweep_times_output.h"
#include "cli/output/terminal.h"
#include "plan/engine_program.h"
#include "plan/sweep_plan.h"
#include "results/stored_results.h"
#include "search/search.h"
#include "system/file_system.h"
#include "system/temporary_folder.h"
#include "timing/gpu_timer.h"
#include "worker/child_process.h"

namespace mgtune {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kToStart{10};   // the process that serves the page
constexpr std::chrono::seconds kToFinish{10};  // so that browsers get the last document

// The process (`mgtune watch`) that serves the report of a running sweep. It is a separate process,
// so that browsers do not slow down the sweep. It reads the store while the sweep writes it, and
// ends when its standard input is closed.
struct WatchPage {
  ChildProcess process;
  std::string url;

  // An empty `kernel` means all. environment if the process does not start or gets no socket.
  static Result<WatchPage> start(const std::string& program, const std::string& database,
                                 const std::string& kernel) {
    std::vector<std::string> command = {program, "watch", "--db", database};
    if (!kernel.empty()) command.insert(command.end(), {"--kernel", kernel});
    MGTUNE_ASSIGN(ChildProcess process, ChildProcess::start(command));
    Result<std::string> url = process.read_line(SteadyClock::now() + kToStart);
    if (url.ok()) return WatchPage{std::move(process), *std::move(url)};
    const std::string why = process.read_error_output();
    return environment_error("the page for --watch does not start: " +
                             (why.empty() ? url.status().message() : why));
  }

  // Call it when the sweep is over but before the store is closed: the last process that closes the
  // store merges the log, and this should be the sweep.
  void finish() {
    if (!process.write_line("end").ok()) return;
    // The process writes nothing more, so this returns when it ends.
    static_cast<void>(process.read_line(SteadyClock::now() + kToFinish));
  }
};

class SweepCommand final : public Command {
 public:
  std::string details() const override {
    return "Without --problem and --shapes, the operators' own problems are tuned; on the cpu\n"
           "device these are small ones. If a sweep is stopped, the same command continues it and\n"
           "repeats nothing that is known. A family that is given as a folder is\n"
           "compiled and run as native code with your rights: sweep only what you trust. GPUs of\n"
           "one model (--gpu all, --gpu 0,1) share the work; different models are swept one after\n"
           "the other. Shards of a sweep visit disjoint parts of all spaces, of equal estimated\n"
           "time. After them: 'mgtune merge ALL.db *.shard-*.db', then the same command with\n"
           "'--finals --db ALL.db' instead of --shard.\n"
           "With --model, the kernels that a token of a language model launches are tuned by the\n"
           "method graph. Those that cost most get most of the time. Then 'mgengine tune' chooses\n"
           "among the fastest variants by the time of whole tokens; programs prefer these picks.\n"
           "Examples:\n"
           "  mgtune sweep rmsnorm --gpu L4\n"
           "  mgtune sweep rmsnorm.forward --dtype bf16 --problem rows=4096,hidden=8192\n"
           "  mgtune sweep rmsnorm.forward --where 'THREADS_PER_ROW <= 256'\n"
           "  mgtune sweep path/to/my_family/ --gpu auto --budget 5m\n"
           "  mgtune sweep --model llama-3.2-1b --gpu H200 --budget 5m\n"
           "  mgtune sweep rmsnorm.forward --for-rules 100 --budget 1000 --dry-run\n"
           "  MGTUNE_RECORD=shapes.jsonl ./program && mgtune sweep --shapes shapes.jsonl";
  }

  void declare(ArgumentList& arguments) override {
    arguments.kernel(request_.kernel, "NAME|DIR",
                     "Family or operator (rmsnorm, rmsnorm.forward), a family's folder, or an "
                     "operator's file; required unless --shapes is a recording or --model is "
                     "given");
    arguments.gpu(
        request_.gpu,
        "L4, an index, a UUID, several with commas, all, cpu, or auto: the first GPU, or cpu if "
        "there is none");
    arguments.value("--dtype", request_.dtype, "LIST", "Only these dtypes: bf16,f16,f32");
    arguments.values("--problem", request_.problems, "DIMS",
                     "rows=4096,hidden=4096 (may be repeated)");
    arguments.values(
        "--where", request_.where, "CONDITION",
        "Only variants for which this is true: 'THREADS <= 256 && VEC == 8', as in the "
        "constraints of an operator's file (may be repeated: all must hold)");
    arguments.value("--try-first", request_.try_first, "FILE",
                    "Begin the search of each problem with the variants of a file, one per line, "
                    "that the problem admits");
    arguments.value(
        "--shapes", request_.shapes, "NAME|FILE",
        "The problems of a model (llama-3.1-8b), of a file like configs/shapes/*.json, or of a "
        "recording that a program made (MGTUNE_RECORD)");
    arguments.value("--model", model_.model, "NAME|PATH",
                    "The kernels of a model that mgengine runs: llama-3.2-1b or another name of "
                    "configs/models, a config.json, or a model's folder. In --dtype (default: "
                    "bf16)");
    arguments.value("--positions", model_.positions, "LIST",
                    "With --model: the positions whose tokens count (default: 128,2047, as far as "
                    "the model goes)");
    arguments.integer("--capacity", model_.capacity, "N",
                      "With --model: positions in the caches (default: up to the largest of "
                      "--positions)");
    arguments.integer("--batch", model_.batch, "N", "With --model: sequences, 1 to 8 (default: 1)");
    arguments.integer(
        "--for-rules", request_.for_rules, "N",
        "Measure up to N problems of each operator for 'mgtune fit': drawn at random, "
        "or chosen at random from those of --shapes or --problem. What was fast at one "
        "problem is measured at the others too, and there are no finals. A second run "
        "of the same command measures what is still missing");
    arguments.value("--ranges", request_.ranges, "DIM=LOW:HIGH,...",
                    "With --for-rules: rows=1:65536,hidden=128:16384:128 (the step of the values) "
                    "instead of the ends of the operator's own problems");
    arguments.choice(
        "--strategy", request_.strategy, search_strategies(), "NAME",
        strategy_list() +
            " (default: exhaustive if the budget covers the space, otherwise adaptive)");
    arguments.integer("--seed", request_.seed, "N",
                      "Seed of all random choices: those of the strategy, and the problems of "
                      "--for-rules (default: 1)");
    arguments.value(
        "--budget", request_.budget, "N|TIME",
        "Variants per problem (500), or time of the whole sweep (60s, 10m, 1h); default: "
        "10m, and 1m on the cpu device. With --model, choosing by tokens comes after it");
    arguments.value("--target", request_.target, "X",
                    "End a problem early when a further gain of 1-X is unlikely (0.98: 2 %)");
    arguments.choice(
        "--method", request_.method, gpu_methods(), "NAME",
        "How variants are timed on a GPU: rotating (default: no data in the L2 cache), cold, hot, "
        "or graph, which suits kernels under 20 us");
    arguments.value("--retry", request_.retry, "LIST",
                    "Try variants again that failed with one of these: compile_failed, crashed, "
                    "launch_failed, timeout, unsupported, unstable, wrong");
    arguments.integer("--jobs", request_.jobs, "N",
                      "Compile with N processes (default: one per core that this process may use, "
                      "with 512 MiB of memory each)");
    arguments.database(database_);
    arguments.value(
        "--shard", request_.shard, "I/N",
        "Tune only part I of N of the variants, and write a separate file beside the database "
        "for 'mgtune merge' (default: the task of a Slurm job array)");
    arguments.flag("--finals", request_.finals,
                   "Search nothing: time the fastest results that the database has of each problem "
                   "side by side, and pick. The last step after 'mgtune merge'");
    arguments.choice("--objective", request_.objective, sweep_objectives(), "NAME",
                     "What the pick has least of: time (default), or energy, which measures the "
                     "energy of the finalists, some 4 s each (needs the GPU's energy counter)");
    arguments.flag("--counters", request_.counters,
                   "Read hardware counters for the finalists (needs the right to profile)");
    arguments.flag("--profile-sweep", profile_sweep_,
                   "Print where the wall time of each GPU went: loading, checking, measuring, "
                   "finals, and waiting, by cause");
    arguments.flag("--watch", watch_,
                   "Serve the report on this machine while the sweep runs, and print its URL");
    arguments.flag("--dry-run", dry_run_,
                   "Print what would be done and stop; the GPU need not be in this machine");
    arguments.json(json_);
  }

  Result<ExitCode> run(const Invocation& invocation) override {
    Catalog catalog(FileSystem::real());
    request_.plans_only = dry_run_;
    std::optional<TemporaryFolder> recording;
    if (is_of_model()) {
      MGTUNE_TRY(record_model(invocation, recording));
    } else if (!model_.positions.empty() || model_.capacity != 0 || model_.batch != 1) {
      return invalid_argument("--positions, --capacity and --batch go with --model");
    }
    MGTUNE_ASSIGN(const std::vector<SweepPlan> plans,
                  make_sweep_plans(request_, catalog, invocation.program, invocation.command_line));
    if (is_of_model() && plans.front().shard.has_value()) {
      return invalid_argument("--model is not cut into shards, also not by a Slurm job array");
    }
    if (dry_run_) {
      for (const SweepPlan& plan : plans) std::cerr << announcement(plan);
      if (json_) {
        std::cout << dry_run_json(plans);
      } else {
        print_text(dry_run_table(plans));
      }
      return ExitCode::ok;
    }
    Result<ExitCode> code = sweep_all(plans, invocation);
    leave_nothing_behind("");  // compile workers that were still busy have been killed
    const bool is_over = !code.ok() || interrupted() || !is_of_model();
    return is_over ? std::move(code) : tune_tokens(plans, invocation, *code);
  }

 private:
  bool is_of_model() const { return !model_.model.empty(); }

  // Records the kernels of the model, and makes this recording the shapes of the request.
  Status record_model(const Invocation& invocation, std::optional<TemporaryFolder>& folder) {
    const std::array<std::pair<const char*, bool>, 7> others = {
        {{"--problem", !request_.problems.empty()},
         {"--shapes", !request_.shapes.empty()},
         {"--for-rules", request_.for_rules > 0},
         {"--shard", !request_.shard.empty()},
         {"--finals", request_.finals},
         {"--objective energy", request_.objective == "energy"},
         {"--json", json_ && !dry_run_}}};
    for (const auto& [option, is_given] : others) {
      if (is_given) return invalid_argument(fmt::format("{} does not go with --model", option));
    }
    MGTUNE_ASSIGN(const EngineProgram engine, EngineProgram::beside(invocation.program));
    if (!request_.dtype.empty()) model_.dtype = std::exchange(request_.dtype, "");
    MGTUNE_ASSIGN(folder, TemporaryFolder::create());
    request_.shapes = folder->path() + "/model.jsonl";
    request_.model = model_.model;
    return engine.record_kernels(model_, request_.shapes);
  }

  // The exit code of the sweep, unless mgengine fails.
  Result<ExitCode> tune_tokens(const std::vector<SweepPlan>& plans, const Invocation& invocation,
                               ExitCode swept) const {
    MGTUNE_ASSIGN(const EngineProgram engine, EngineProgram::beside(invocation.program));
    MGTUNE_ASSIGN(const std::string path, database_path(database_));
    for (const SweepPlan& plan : plans) {
      std::cerr << "choosing by the time of whole tokens on " << device_text(plan) << "\n";
      MGTUNE_ASSIGN(const int code, engine.tune(model_, plan.device().id, path));
      if (code != 0) return static_cast<ExitCode>(code);
    }
    return swept;
  }

  Result<ExitCode> sweep_all(const std::vector<SweepPlan>& plans,
                             const Invocation& invocation) const {
    MGTUNE_ASSIGN(std::string path, database_path(database_));
    MGTUNE_TRY(check_folder(only_source(database_)));
    if (plans.front().shard.has_value()) path = plans.front().shard->path(path);
    MGTUNE_ASSIGN(Store store, Store::open(path, Store::Mode::read_write));
    if (const Status cache = BuildCache::check(BuildCache::default_directory()); !cache.ok()) {
      std::cerr << "mgtune: warning: builds are not cached: " << cache.message() << "\n";
    }
    install_interrupt_handlers(path);
    TemporaryFolder::remove_abandoned();
    std::optional<WatchPage> watch;  // ends before the store closes and merges its log
    const auto serve_page = [&]() -> Status {
      if (!watch_ || watch.has_value()) return {};
      MGTUNE_ASSIGN(watch, WatchPage::start(invocation.program, path, request_.kernel));
      std::cerr << "watch it at " << watch->url << "\n";
      return {};
    };
    std::vector<FinishedSweep> sweeps;
    for (const SweepPlan& plan : plans) {
      if (interrupted()) break;
      MGTUNE_ASSIGN(const std::string warm_start, warm_start_text(plan, store));
      std::cerr << announcement(plan) << warm_start;
      MGTUNE_ASSIGN(FinishedSweep finished, sweep(plan, store, serve_page));
      std::cerr << summary_text(finished, show_failures_command(), store);
      if (profile_sweep_) std::cerr << sweep_times_text(finished.summary.times);
      sweeps.push_back(std::move(finished));
    }
    stop_interrupt_timer();
    if (watch.has_value() && !interrupted()) watch->finish();
    return finish(sweeps, store);
  }

  static Result<FinishedSweep> sweep(const SweepPlan& plan, Store& store,
                                     const std::function<Status()>& on_locked) {
    SweepOptions options = plan.options;
    options.on_locked = on_locked;
    const SteadyClock::time_point start = SteadyClock::now();
    ProgressPrinter printer(std::cerr, progress_style(), terminal_columns(STDERR_FILENO, 80),
                            start);
    Result<SweepSummary> summary = run_sweep(
        options, plan.devices, plan.problems, store,
        [&](const SweepProgress& progress) { printer.update(progress, SteadyClock::now()); },
        interrupted);
    printer.clear();
    if (!summary.ok()) return std::move(summary).take_status();
    const std::chrono::duration<double> elapsed = SteadyClock::now() - start;
    return FinishedSweep{&plan, *std::move(summary), elapsed.count()};
  }

  std::string show_failures_command() const {
    return "mgtune show failures" +
           (request_.kernel.empty() ? "" : " --kernel " + request_.kernel) +
           (database_.empty() ? "" : " --db " + database_);
  }

  Result<ExitCode> finish(const std::vector<FinishedSweep>& sweeps, Store& store) const {
    std::int64_t failed = 0;
    std::int64_t unserved = 0;
    std::int64_t unfound = 0;
    std::int64_t problems = 0;
    std::string devices;
    for (const FinishedSweep& sweep : sweeps) {
      failed += failed_variants(sweep.summary);
      unserved += sweep.summary.unserved;
      unfound += sweep.summary.unfound;
      problems += sweep.summary.problems;
      devices += (devices.empty() ? "" : ", ") + device_text(*sweep.plan);
      if (json_) continue;
      MGTUNE_ASSIGN(const std::string table,
                    picks_of(sweep, store, terminal_columns(STDOUT_FILENO, 0)));
      print_text(table);
    }
    if (json_) {
      MGTUNE_ASSIGN(const std::string json, sweep_json(sweeps, store, profile_sweep_));
      std::cout << json;
    }
    if (interrupted()) return interrupt_exit_code();
    std::cerr << next_step_text(sweeps, request_.kernel);
    if (problems > 0 && unserved == problems) {
      return environment_error("none of the problems can run on " + devices);
    }
    return failed > 0 || unserved > 0 || unfound > 0 ? ExitCode::partial : ExitCode::ok;
  }

  SweepRequest request_;
  EngineModel model_;
  std::string database_;
  bool watch_ = false, dry_run_ = false, json_ = false, profile_sweep_ = false;
};

}  // namespace

std::unique_ptr<Command> make_sweep_command() { return std::make_unique<SweepCommand>(); }

}  // namespace mgtune

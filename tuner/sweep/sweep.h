// Sweep: tunes all planned problems on one device, or on several GPUs of one model, which share the
// work. For each problem it searches, compiles, checks, measures, records and picks. This code runs
// in the parent process, which never uses a device; its workers do.
//
// There is no special mode to resume a sweep. A sweep reuses every result that the store has with
// the same key. So if a sweep was killed, the same command continues where it stopped. If the sweep
// had ended, the same command compiles and measures nothing and starts no worker. Each device has a
// lock, so that two sweeps do not disturb each other.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "family/catalog.h"
#include "family/problem.h"
#include "family/variant.h"
#include "plan/worker_cores.h"
#include "store/store.h"
#include "sweep/planned_problem.h"
#include "sweep/sweep_times.h"
#include "timing/timer.h"

namespace mgtune {

struct Budget {
  std::optional<std::int64_t> evaluations;  // per problem; results that are reused count too
  // Seconds for the whole sweep. The problems that are expected to gain most get most of them
  // (sweep/timed_turns.h). In a sweep for rules, every problem gets a share of the remaining time
  // by its weight.
  std::optional<double> seconds;
  std::string text;  // as typed
};

// What the pick minimizes. The search and the final always compare times; with `energy`, the
// finalist with the least energy becomes the pick.
enum class Objective : std::uint8_t { time, energy };

using VariantLists = std::map<std::string, std::vector<Variant>>;  // by operator

struct SweepOptions {
  std::string kernel;  // as typed, for the workers; "": they load each operator by its own name
  std::string strategy;
  std::uint64_t seed = 1;
  Budget budget;
  std::optional<double> target;  // a problem ends if a further gain of 1 - target is unlikely
  TimingMethod method;
  std::set<Outcome> retry;  // variants whose row has one of these outcomes are tried again
  VariantLists try_first;   // what an adaptive search visits first, where it is admissible
  bool finals = false;      // search nothing; hold finals among the fastest results of the store
  // The results are used to fit rules: after the searches, a few variants that are good at many
  // problems are measured at all of these problems. Rules do not use ceilings and finals, so there
  // are none.
  bool for_rules = false;
  bool counters = false;  // read hardware counters for the finalists
  Objective objective = Objective::time;
  std::string command;  // as typed
  std::string program;  // absolute path of mgtune, to start workers
  std::string cache_directory;
  std::string lock_directory;  // for lock files; every sweep on the device must use the same one
  std::size_t compile_processes = 1;
  WorkerCores cores = {};             // of the devices that the sweep uses, in their order
  std::function<Status()> on_locked;  // called when the devices are locked; if it fails, so does
                                      // the sweep
};

// How many variants of the problem the sweep may visit; nullopt: no number limits them.
std::optional<std::int64_t> max_evaluations(const SweepOptions& options,
                                            const PlannedProblem& planned);

struct SweepProgress {
  std::string problem;  // "rmsnorm.forward rows=64 hidden=256 T=bf16"
  std::int64_t problem_index = 0, problems = 0;
  std::int64_t done = 0, total = 0;  // variants of this problem; total is 0 if it is not known
  double fraction = 0;               // of the whole sweep: of its variants or of its time
  std::optional<double> best_ns;
  std::string best_variant;
  double elapsed_seconds = 0;
  std::optional<double> eta_seconds;
};

// A problem whose search ended because it reached the target.
struct SettledProblem {
  std::string problem;               // as in SweepProgress
  std::int64_t done = 0, total = 0;  // variants; total is 0 if it is not known
};

// What a time budget was used for, and what more time would probably bring.
struct BudgetUse {
  std::int64_t complete = 0;  // problems that have nothing left to try
  std::int64_t searched = 0;  // that had more turns than the default's, and have more to try
  std::int64_t defaults = 0;  // for which only the default, or nothing new, was evaluated
  std::int64_t not_begun = 0;
  double gained = 1;    // geometric mean of: the default's time / the fastest variant's time
  double expected = 1;  // the factor that more time is expected to bring, over all problems
  struct Expected {
    std::string problem;
    double factor = 1;
  };
  std::vector<Expected> most_expected;  // the problems with the largest ones
};

struct SweepSummary {
  std::int64_t sweep_id = 0;
  std::int64_t problems = 0;
  std::int64_t evaluated = 0;  // measured or failed in this run
  std::int64_t reused = 0;     // the store had the result
  std::int64_t compiled = 0;
  std::int64_t same_code = 0;  // evaluated by the result of another variant with the same code
  std::map<Outcome, std::int64_t> outcomes;  // with the reused ones
  std::int64_t unserved = 0;                 // problems for which no variant can run on the device
  std::int64_t unfound = 0;  // problems whose search ended before it found a variant

  // Sentences that say what was not done and why, for example "row: requires device.cc >= 90".
  std::vector<std::string> skipped;
  std::vector<TunedView> picks;
  std::vector<SettledProblem> settled;
  std::optional<BudgetUse> budget_use;  // of a sweep with a budget of time
  SweepTimes times;
  bool stopped_early = false;    // by a signal
  bool ended_by_budget = false;  // for some variants there was not enough time
};

// How long a sweep waits for the first variant of a problem, with its reference, before it assumes
// that the worker hangs. It is 20 s plus the time for checking. On the cpu device it is 30 s plus
// the time for emulating. It is at most a day. For the next variants of the problem,
// VariantDeadline has a better estimate.
Result<std::chrono::milliseconds> measure_deadline(DeviceKind device, const Problem& problem);

// `devices` is one device, or several GPUs that is_same_gpu() says are the same, so that a
// measurement of one is valid for all. All entries of a final are timed on one GPU. `should_stop`
// is called between variants (it is true after Ctrl-C). Variants that are finished by then are
// recorded. environment if another sweep uses one of the devices (the message names its process),
// or if this machine cannot compile for the devices.
Result<SweepSummary> run_sweep(const SweepOptions& options, const std::vector<DeviceInfo>& devices,
                               const std::vector<PlannedProblem>& problems, Store& store,
                               const std::function<void(const SweepProgress&)>& on_progress,
                               const std::function<bool()>& should_stop);

}  // namespace mgtune

// Sweep: every problem of the operators asked for, on one device, or on several GPUs of one model
// that share the work: search, compile, check, measure, record, pick. The parent process only; it
// never touches a device.
//
// Resume is not a mode: what the store already knows under the same keys is reused, so the same
// command after a kill goes on where it stopped, and after its end compiles and measures nothing;
// then no worker is even started. A lock per device keeps two sweeps from disturbing each other.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "family/catalog.h"
#include "family/problem.h"
#include "store/store.h"
#include "sweep/planned_problem.h"
#include "timing/timer.h"

namespace mgtune {

struct Budget {
  std::optional<std::int64_t> evaluations;  // per problem; those known already count
  // Of the whole sweep. Each problem left gets an equal share; what some leave of theirs goes to
  // those that it was short for.
  std::optional<double> seconds;
  std::string text;  // as typed
};

struct SweepOptions {
  std::string kernel;  // as typed: workers load it again; "": each operator by its own name
  std::string strategy;
  std::uint64_t seed = 1;
  Budget budget;
  std::optional<double> target;  // ends a problem when a further gain of 1 - target is unlikely
  TimingMethod method;
  bool counters = false;  // count what the hardware does for the finalists
  std::string command;    // as typed
  std::string program;    // absolute path of mgtune, to start workers
  std::string cache_directory;
  std::string lock_directory;  // of the lock files, the same for every sweep on the device
  std::size_t compile_processes = 1;
  std::function<Status()> on_locked;  // called once the devices are locked; what fails ends it

  // What a worker loads the operator by.
  const std::string& kernel_of(const std::string& full_name) const {
    return kernel.empty() ? full_name : kernel;
  }
};

// Where the sweep stands, for whoever draws it.
struct SweepProgress {
  std::string problem;  // "rmsnorm.forward rows=64 hidden=256 T=bf16"
  std::int64_t problem_index = 0, problems = 0;
  std::int64_t done = 0, total = 0;  // variants of this problem; total is 0 when not known
  std::optional<double> best_ns;
  std::string best_variant;
  double elapsed_seconds = 0;
  std::optional<double> eta_seconds;
};

// A problem that its target ended.
struct SettledProblem {
  std::string problem;               // as in SweepProgress
  std::int64_t done = 0, total = 0;  // variants; total is 0 when not known
};

struct SweepSummary {
  std::int64_t sweep_id = 0;
  std::int64_t problems = 0;
  std::int64_t evaluated = 0;  // measured or failed in this run
  std::int64_t reused = 0;     // known from the store
  std::int64_t compiled = 0;
  std::map<Outcome, std::int64_t> outcomes;  // reused ones included
  std::int64_t unserved = 0;                 // problems of which no variant can run on the device

  // What cannot run here and why: designs ("row: requires device.cc >= 90"), unserved problems.
  std::vector<std::string> skipped;
  std::vector<TunedView> picks;
  std::vector<SettledProblem> settled;
  bool stopped_early = false;  // by a signal or the budget
};

// How long a sweep waits for one variant of the problem, its references included, before it takes
// the worker to hang: 20 s (30 s on the cpu device), and the time that checking takes, or on the
// cpu device emulating. At most a day. It is for the first variant of a problem: after that
// measure/variant_deadline.h has a better estimate.
Result<std::chrono::milliseconds> measure_deadline(DeviceKind device, const Problem& problem);

// `devices` are one, or GPUs that make one GpuRecord: what one of them measures is true of all. The
// first measures ceilings and finals. `should_stop` is asked between variants (Ctrl-C); what is
// done is recorded. environment when another sweep uses one of them, naming its process, or when
// nothing here can compile for them.
Result<SweepSummary> run_sweep(const SweepOptions& options, const std::vector<DeviceInfo>& devices,
                               const std::vector<PlannedProblem>& problems, Store& store,
                               const std::function<void(const SweepProgress&)>& on_progress,
                               const std::function<bool()>& should_stop);

}  // namespace mgtune

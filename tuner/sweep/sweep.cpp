#include "sweep/sweep.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "compile/compile_worker.h"
#include "compiler/compiler.h"
#include "device/device_lock.h"
#include "fit/candidates.h"
#include "selection/gpu_similarity.h"
#include "selection/variant_selection.h"
#include "sweep/problem_sweep.h"
#include "sweep/sweep_loop.h"
#include "sweep/timed_turns.h"

namespace mgtune {
namespace {

using Clock = std::chrono::steady_clock;

// A light kernel compiles in 0.1 s and a heavy one in some seconds; on a busy machine both take
// several times as long. The deadline is longer than two minutes, because after that time the host
// compiler gives up by itself and ends all processes that it started.
constexpr std::chrono::seconds kCompileDeadline{150};

constexpr std::chrono::seconds kMeasureDeadline{20};
// Longer than the 20 s after which the cpu device itself ends a launch with a message that says
// where each thread is.
constexpr std::chrono::seconds kEmulatedDeadline{30};

// How often a sweep for rules chooses candidates, how many, and how many of them it measures at one
// problem. The times of each choice make the next one better. There are more candidates than rules
// may name, because they are chosen by estimates, and some estimates are wrong.
constexpr int kRoundsForRules = 3;
constexpr std::size_t kCandidates = 64;
constexpr std::size_t kCandidatesPerProblem = 16;

constexpr std::chrono::seconds kLongest = std::chrono::hours(24);

// Emulation takes about 0.1 s for each MiB that a problem moves, times the launches of a check.
constexpr std::int64_t kCheckedBytesPerSecondEmulated = 1 << 20;

// On a GPU, comparing on the host takes the longest: about 2 s for a variant of rmsnorm.forward
// 8192 x 8192 in bf16 (268 MB), on a machine with an H200. This is an eighth of that speed.
constexpr std::int64_t kCheckedBytesPerSecond = 16 << 20;

std::string name_of(const Problem& problem) {
  return problem.op->full_name() + " " + problem.text();
}

// Why each design has no variant: "flat: requires device.cc >= 90", "flat: n % VEC == 0".
std::string reasons(const std::vector<DesignStatistics>& designs) {
  std::string text;
  for (const DesignStatistics& design : designs) {
    std::string why = design.unavailable;
    for (const auto& [constraint, points] : design.pruned) {
      if (design.unavailable.empty()) why += (why.empty() ? "" : ", ") + constraint;
    }
    text += (text.empty() ? "" : "; ") + design.design + ": " + why;
  }
  return text;
}

class Sweep {
 public:
  Sweep(SweepShared& shared, const std::vector<PlannedProblem>& problems,
        std::function<void(const SweepProgress&)> on_progress)
      : shared_(shared), problems_(problems), on_progress_(std::move(on_progress)) {}

  Status run() {
    plan();
    const SweepOptions& options = shared_.options;
    const bool is_timed = options.budget.seconds.has_value();
    MGTUNE_TRY(is_timed && !options.for_rules && !options.finals ? run_timed() : run_in_order());
    sort_picks();
    for (const std::string& gpu : shared_.workers.left_alone()) skip("the GPU " + gpu);
    if (!shared_.not_cached.empty()) {
      skip("caching of builds: " + shared_.not_cached +
           "; a build that is not cached is compiled again for each use");
    }
    MGTUNE_TRY(shared_.journal.finish());
    shared_.summary.sweep_id = shared_.journal.id();
    shared_.summary.times = sweep_times(shared_);
    return {};
  }

 private:
  Status run_in_order() {
    std::vector<Running> all;
    for (std::size_t i = 0; i < problems_.size(); ++i) {
      if (problems_[i].is_served()) all.push_back({i, nullptr});
    }
    MGTUNE_TRY(take_turns(std::move(all), [this](Running& running) -> Status {
      MGTUNE_ASSIGN(running.sweep, ProblemSweep::make(shared_, problems_[running.index]));
      return {};
    }));
    if (shared_.options.for_rules) {
      for (int round = 0; round < kRoundsForRules; ++round) MGTUNE_TRY(measure_candidates());
    }
    MGTUNE_TRY(loop_.finish());
    MGTUNE_TRY(note_decided());
    for (const Running& unfinished : unfinished_) {
      MGTUNE_TRY(note_end(unfinished.index, *unfinished.sweep));
    }
    note_stop(
        std::ranges::any_of(unfinished_, [](const Running& one) { return one.sweep->stopped(); }));
    return {};
  }

  // Runs problems that have several turns each, as long as there is time.
  Status run_timed() {
    TimedTurns turns(shared_, problems_, start_, [this](std::size_t index, const ProblemSweep& at) {
      on_progress_(progress(index, at));
    });
    MGTUNE_TRY(turns.run());
    for (std::size_t i = 0; i < problems_.size(); ++i) {
      if (turns.sweeps()[i] != nullptr) MGTUNE_TRY(note_end(i, *turns.sweeps()[i]));
    }
    const BudgetUse use = turns.use();
    note_stop(use.searched + use.defaults + use.not_begun > 0);
    shared_.summary.budget_use = use;
    return {};
  }

  void note_stop(bool is_unfinished) {
    shared_.summary.stopped_early = shared_.should_stop();
    shared_.summary.ended_by_budget = !shared_.summary.stopped_early && is_unfinished;
  }

  // Computes how many variants each problem will visit at most, and notes what cannot run here at
  // all.
  void plan() {
    for (const PlannedProblem& planned : problems_) {
      for (const DesignStatistics& design : planned.designs) {
        if (!design.unavailable.empty()) skip(design.design + ": " + design.unavailable);
      }
      if (planned.is_served()) {
        // For rules, each problem also has a turn in every round.
        weight_left_ += planned.weight * (shared_.options.for_rules ? 1 + kRoundsForRules : 1);
      } else {
        ++shared_.summary.unserved;
        skip(name_of(planned.problem) + ": no variant serves it on " + shared_.device.name + " (" +
             reasons(planned.designs) + ")");
      }
      totals_.push_back(max_variants(planned));
      left_ += totals_.back();
    }
    shared_.summary.problems = static_cast<std::int64_t>(problems_.size());
  }

  // 0 if the variants were not counted and nothing limits their number.
  std::int64_t max_variants(const PlannedProblem& planned) const {
    const std::optional<std::int64_t> limit = max_evaluations(shared_.options, planned);
    const auto admissible = static_cast<std::int64_t>(planned.admissible);
    if (!planned.counted) return limit.value_or(0);
    return limit.has_value() ? std::min(*limit, admissible) : admissible;
  }

  void skip(const std::string& what) {
    std::vector<std::string>& skipped = shared_.summary.skipped;
    if (std::find(skipped.begin(), skipped.end(), what) == skipped.end()) skipped.push_back(what);
  }

  // A problem that may still have turns.
  struct Running {
    std::size_t index;
    std::unique_ptr<ProblemSweep> sweep;
  };

  using Prepare = std::function<Status(Running&)>;

  // Runs the turns one after the other, each after `prepare`. While one turn ends, the next problem
  // is prepared and works ahead. Afterwards, unfinished_ has the problems whose time was too short,
  // and in a sweep for rules all problems.
  Status take_turns(std::vector<Running> turns, const Prepare& prepare) {
    std::size_t prepared = 0;
    for (std::size_t i = 0; i < turns.size(); ++i) {
      if (shared_.should_stop()) {
        if (turns[i].sweep != nullptr) unfinished_.push_back(std::move(turns[i]));
        continue;
      }
      const auto prepare_up_to = [&](std::size_t place) {
        return prepared > place ? Status() : prepare(turns[prepared++]);
      };
      MGTUNE_TRY(prepare_up_to(i));
      const auto next = [&]() -> Result<ProblemSweep*> {
        if (i + 1 == turns.size()) return nullptr;
        MGTUNE_TRY(prepare_up_to(i + 1));
        return turns[i + 1].sweep.get();
      };
      MGTUNE_TRY(run_problem(std::move(turns[i]), next));
    }
    return {};
  }

  Status run_problem(Running running, const SweepLoop::Next& next) {
    const auto report = [&](const ProblemSweep& at) { on_progress_(progress(running.index, at)); };
    report(*running.sweep);
    const double weight = problems_[running.index].weight;
    MGTUNE_TRY(loop_.run(*running.sweep, problem_deadline(weight), report, next));
    weight_left_ -= weight;
    left_ = std::max<std::int64_t>(0, left_ - totals_[running.index]);
    if (running.sweep->stopped() || shared_.options.for_rules) {
      unfinished_.push_back(std::move(running));
    } else {
      finished_.push_back(std::move(running));
    }
    return note_decided();
  }

  // Notes the ends of problems whose turns are over and that have their picks, in the order of the
  // turns.
  Status note_decided() {
    while (!finished_.empty() && !finished_.front().sweep->is_deciding()) {
      const Running running = std::move(finished_.front());
      finished_.pop_front();
      MGTUNE_TRY(note_end(running.index, *running.sweep));
    }
    return {};
  }

  // Finals end in any order, but the summary lists picks in the order of the problems.
  void sort_picks() {
    const auto place_of = [this](const TunedView& pick) {
      return std::ranges::find_if(problems_, [&](const PlannedProblem& planned) {
        return planned.problem.op->full_name() == pick.op && planned.problem.text() == pick.problem;
      });
    };
    std::ranges::stable_sort(shared_.summary.picks, {}, place_of);
  }

  // Chooses candidates for the rules of each operator from all results that the store has of the
  // operator on this GPU, and evaluates the candidates at the problems where they are promising.
  Status measure_candidates() {
    std::map<const Operator*, Candidates> candidates;
    return take_turns(std::exchange(unfinished_, {}), [&](Running& running) -> Status {
      const Problem& problem = problems_[running.index].problem;
      if (!candidates.contains(problem.op)) {
        MGTUNE_ASSIGN(candidates[problem.op], candidates_of(*problem.op));
      }
      std::vector<Variant> here;
      for (const VariantPattern* pattern : candidates.at(problem.op).at(problem)) {
        const auto variant = variant_of(*pattern, problem.binding(), shared_.device.limits);
        if (variant) here.push_back(*variant);
      }
      return running.sweep->want_too(here);
    });
  }

  Result<Candidates> candidates_of(const Operator& op) {
    MGTUNE_ASSIGN(const MeasuredRows measured, shared_.store.measured(op.full_name()));
    const Result<FitData> data = read_fit_data(op, gpu_record(shared_.device), measured);
    if (!data.ok() || data->measured.size() < kFewestProblems) return Candidates();
    return choose_candidates(*data, kCandidates, kCandidatesPerProblem);
  }

  // Adds to the summary why the problem ended, if its target was reached, if the search found no
  // further variant in a space that it has not seen as a whole, or if every variant that was
  // visited turned out to be unsupported.
  Status note_end(std::size_t index, const ProblemSweep& sweep) {
    const Problem& problem = problems_[index].problem;
    if (sweep.stopped_by_target()) {
      shared_.summary.settled.push_back({name_of(problem), sweep.done(), totals_[index]});
    }
    note_search(index, sweep);
    if (shared_.options.finals && sweep.contenders().best() == nullptr) {
      skip(name_of(problem) + ": the database has no variant of it that passed");
    }
    if (!sweep.supports_nothing()) return {};
    ++shared_.summary.unserved;
    MGTUNE_ASSIGN(const std::vector<OutcomeView> rows,
                  shared_.store.outcomes(0, problem.op->full_name(), problem.text()));
    const auto row = std::ranges::find_if(rows, [&](const OutcomeView& view) {
      return view.gpu_id == shared_.gpu_id && view.outcome == Outcome::unsupported;
    });
    skip(name_of(problem) + ": " + shared_.device.name + " supports none of the " +
         std::to_string(sweep.done()) + " variants tried" +
         (row == rows.end() ? "" : " (" + row->message + ")"));
    return {};
  }

  void note_search(std::size_t index, const ProblemSweep& sweep) {
    const PlannedProblem& planned = problems_[index];
    const bool is_limited = sweep.looked_in_vain() > 0;
    if (!is_limited && (sweep.found_any() || !sweep.stopped())) return;
    shared_.summary.unfound += sweep.found_any() ? 0 : 1;
    skip(name_of(planned.problem) + ": the search found no " +
         (sweep.found_any() ? "further " : "") + "variant " +
         (is_limited ? "in " + std::to_string(sweep.looked_in_vain()) +
                           " steps through points and beginnings of points, which is the limit"
                     : "before it was stopped") +
         "; the space has " + std::to_string(planned.space.size()) +
         " points; constraints on few parameters exclude many points at once");
  }

  double seconds_left() const {
    return std::max(0.0, shared_.options.budget.seconds.value_or(0) - elapsed());
  }

  // The deadline for one of the problems that are left.
  std::optional<Clock::time_point> problem_deadline(double weight) const {
    if (!shared_.options.budget.seconds.has_value()) return std::nullopt;
    const std::chrono::duration<double> share(seconds_left() *
                                              std::min(1.0, weight / weight_left_));
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(share);
  }

  SweepProgress progress(std::size_t index, const ProblemSweep& at) const {
    SweepProgress progress;
    progress.problem = name_of(problems_[index].problem);
    progress.problem_index = static_cast<std::int64_t>(index);
    progress.problems = static_cast<std::int64_t>(problems_.size());
    progress.done = at.done();
    progress.total = totals_[index];
    if (const VariantState* best = at.contenders().best(); best != nullptr) {
      progress.best_ns = best->measurement->median_ns;
      progress.best_variant = best->variant;
    }
    progress.elapsed_seconds = elapsed();
    progress.fraction = fraction(at.done());
    progress.eta_seconds = eta_seconds(left_ - at.done(), progress.total > 0);
    return progress;
  }

  // The share of all variants that were visited, or the share of the budget's time that has passed,
  // whichever is larger: the sweep ends when one of them is used up.
  double fraction(std::int64_t done) const {
    const std::int64_t all = std::accumulate(totals_.begin(), totals_.end(), std::int64_t{0});
    double part = all > 0 ? static_cast<double>(all - left_ + done) / static_cast<double>(all) : 0;
    if (const std::optional<double> seconds = shared_.options.budget.seconds) {
      part = std::max(part, elapsed() / *seconds);
    }
    return std::clamp(part, 0.0, 1.0);
  }

  // The time that the remaining variants take at the pace so far, if their number is known, but at
  // most the time that is left in the budget.
  std::optional<double> eta_seconds(std::int64_t variants_left, bool is_known) const {
    const std::int64_t evaluated = shared_.summary.evaluated;
    std::optional<double> eta;
    if (evaluated > 0 && is_known) {
      eta = elapsed() / static_cast<double>(evaluated) * static_cast<double>(variants_left);
    }
    if (shared_.options.budget.seconds.has_value()) {
      eta = eta.has_value() ? std::min(*eta, seconds_left()) : seconds_left();
    }
    return eta;
  }

  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  SweepShared& shared_;
  SweepLoop loop_{shared_};
  const std::vector<PlannedProblem>& problems_;
  std::function<void(const SweepProgress&)> on_progress_;
  Clock::time_point start_ = Clock::now();
  std::vector<std::int64_t> totals_;  // variants to visit at most, by problem; 0: not known
  std::int64_t left_ = 0;             // variants of the problems that are not finished
  double weight_left_ = 0;            // the sum of their weights
  std::vector<Running> unfinished_;   // their share of the time was too short; for rules all
  std::deque<Running> finished_;      // of which the first is deciding
};

// Locks the devices in the order of their ids. So if two sweeps want the same GPUs, one of them
// gets all.
Result<std::vector<DeviceLock>> lock_all(const std::string& directory,
                                         const std::vector<DeviceInfo>& devices) {
  std::vector<std::string> ids;
  ids.reserve(devices.size());
  for (const DeviceInfo& device : devices) ids.push_back(device.id);
  std::ranges::sort(ids);
  std::vector<DeviceLock> locks;
  for (const std::string& id : ids) {
    MGTUNE_ASSIGN(DeviceLock lock, DeviceLock::acquire(directory, id));
    locks.push_back(std::move(lock));
  }
  return locks;
}

}  // namespace

std::optional<std::int64_t> max_evaluations(const SweepOptions& options,
                                            const PlannedProblem& planned) {
  return planned.evaluations.has_value() ? planned.evaluations : options.budget.evaluations;
}

Result<std::chrono::milliseconds> measure_deadline(DeviceKind device, const Problem& problem) {
  MGTUNE_ASSIGN(const std::int64_t bytes, problem.op->bytes.evaluate(problem.slots));
  const bool emulated = device == DeviceKind::cpu;
  const std::chrono::seconds extra(
      std::max<std::int64_t>(bytes, 0) /
      (emulated ? kCheckedBytesPerSecondEmulated : kCheckedBytesPerSecond));
  return std::chrono::milliseconds(
      std::min((emulated ? kEmulatedDeadline : kMeasureDeadline) + extra, kLongest));
}

Result<SweepSummary> run_sweep(const SweepOptions& options, const std::vector<DeviceInfo>& devices,
                               const std::vector<PlannedProblem>& problems, Store& store,
                               const std::function<void(const SweepProgress&)>& on_progress,
                               const std::function<bool()>& should_stop) {
  const DeviceInfo& device = devices.front();
  MGTUNE_ASSIGN(const std::vector<DeviceLock> locks, lock_all(options.lock_directory, devices));
  if (options.on_locked) MGTUNE_TRY(options.on_locked());
  MGTUNE_ASSIGN(const std::int64_t gpu_id, store.gpu_id(gpu_record(device)));
  std::chrono::milliseconds deadline{0};
  for (const PlannedProblem& planned : problems) {
    MGTUNE_ASSIGN(const auto of_problem, measure_deadline(device.kind, planned.problem));
    deadline = std::max(deadline, of_problem);
  }
  const BuildCache cache(FileSystem::real(), options.cache_directory);
  SweepShared shared{
      .options = options,
      .device = device,
      .store = store,
      .gpu_id = gpu_id,
      .builder = Builder(cache),
      .cache = cache,
      .pool = CompilePool({options.program, "worker", "compile", compile_target_word(device)},
                          options.compile_processes, kCompileDeadline, options.cores.compile,
                          compiles_together(device.arch) ? kMostTogether : 1),
      .workers =
          MeasurePool(options.program, devices, options.method, deadline, options.cores.measure),
      .journal = SweepJournal(store, options, device, gpu_id),
      .should_stop = should_stop,
      .retries = {.outcomes = options.retry},
  };
  if (options.counters) {
    shared.counter = WorkerProcess({options.program, "worker", "count", device.id}, deadline);
  }
  MGTUNE_TRY(Sweep(shared, problems, on_progress).run());
  return std::move(shared.summary);
}

}  // namespace mgtune

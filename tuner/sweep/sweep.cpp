#include "sweep/sweep.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "dispatch/variant_selection.h"
#include "space/space.h"
#include "sweep/deadline.h"
#include "sweep/device_lock.h"
#include "sweep/problem_sweep.h"
#include "worker/compile_target.h"

namespace mgtune {
namespace {

using Clock = std::chrono::steady_clock;

std::string name_of(const Problem& problem) {
  return problem.op->full_name() + " " + problem.text();
}

// Why a design has no variant: "flat: requires device.cc >= 90", "flat: n % VEC == 0".
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
  Sweep(SweepShared& shared, const std::vector<Problem>& problems,
        std::function<void(const SweepProgress&)> on_progress)
      : shared_(shared), problems_(problems), on_progress_(std::move(on_progress)) {}

  Status run() {
    MGTUNE_TRY(read_recorded());
    plan();
    for (std::size_t i = 0; i < problems_.size() && !shared_.should_stop(); ++i) {
      if (totals_[i] > 0) MGTUNE_TRY(run_problem(i));
    }
    if (shared_.should_stop()) shared_.summary.stopped_early = true;
    for (const std::string& gpu : shared_.workers.left_alone()) skip("the GPU " + gpu);
    MGTUNE_TRY(shared_.journal.finish());
    shared_.summary.sweep_id = shared_.journal.id();
    return {};
  }

 private:
  Status read_recorded() {
    std::set<std::string> operators;
    for (const Problem& problem : problems_) operators.insert(problem.op->full_name());
    for (const std::string& op : operators) {
      MGTUNE_ASSIGN(std::vector<OutcomeView> rows, shared_.store.outcomes(0, op));
      for (OutcomeView& row : rows) {
        if (row.gpu_id != shared_.gpu_id) continue;
        auto& of_problem = shared_.recorded[{row.op, row.problem}];
        of_problem.push_back(std::move(row));
      }
    }
    return {};
  }

  // How many variants each problem will visit at most, and what cannot run here at all.
  void plan() {
    const std::optional<std::int64_t> limit = shared_.options.budget.evaluations;
    for (const Problem& problem : problems_) {
      std::int64_t admissible = 0;
      const std::vector<DesignStatistics> designs =
          Space(problem, shared_.device.limits).statistics();
      for (const DesignStatistics& design : designs) {
        admissible += static_cast<std::int64_t>(design.admissible);
        if (!design.unavailable.empty()) skip(design.design + ": " + design.unavailable);
      }
      if (admissible == 0) {
        ++shared_.summary.unserved;
        skip(name_of(problem) + ": no variant serves it on " + shared_.device.name + " (" +
             reasons(designs) + ")");
      }
      totals_.push_back(limit.has_value() ? std::min(*limit, admissible) : admissible);
      left_ += totals_.back();
      problems_left_ += totals_.back() > 0 ? 1 : 0;
    }
    shared_.summary.problems = static_cast<std::int64_t>(problems_.size());
  }

  void skip(const std::string& what) {
    std::vector<std::string>& skipped = shared_.summary.skipped;
    if (std::find(skipped.begin(), skipped.end(), what) == skipped.end()) skipped.push_back(what);
  }

  Status run_problem(std::size_t index) {
    const Problem& problem = problems_[index];
    const Space space(problem, shared_.device.limits);
    MGTUNE_ASSIGN(const auto sweep, ProblemSweep::make(shared_, problem, space));
    const auto report = [&](const ProblemSweep& at) { on_progress_(progress(index, at)); };
    report(*sweep);
    const std::map<Outcome, std::int64_t> before = shared_.summary.outcomes;
    MGTUNE_TRY(sweep->run(problem_deadline(), report));
    MGTUNE_TRY(note_if_unserved(problem, before));
    --problems_left_;
    left_ -= totals_[index];
    return {};
  }

  // Says so where every variant of the problem that was visited turned out unsupported, and why the
  // first was; `before` are the outcomes of the problems before it.
  Status note_if_unserved(const Problem& problem, const std::map<Outcome, std::int64_t>& before) {
    std::int64_t unsupported = 0;
    for (const auto& [outcome, count] : shared_.summary.outcomes) {
      const auto earlier = before.find(outcome);
      const std::int64_t here = count - (earlier == before.end() ? 0 : earlier->second);
      if (outcome == Outcome::unsupported) unsupported = here;
      if (outcome != Outcome::unsupported && here > 0) return {};
    }
    if (unsupported == 0) return {};
    ++shared_.summary.unserved;
    MGTUNE_ASSIGN(const std::vector<OutcomeView> rows, shared_.store.outcomes());
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const OutcomeView& view) {
      return view.gpu_id == shared_.gpu_id && view.op == problem.op->full_name() &&
             view.problem == problem.text() && view.outcome == Outcome::unsupported;
    });
    skip(name_of(problem) + ": " + shared_.device.name + " supports none of the " +
         std::to_string(unsupported) + " variants tried" +
         (row == rows.end() ? "" : " (" + row->message + ")"));
    return {};
  }

  std::optional<Clock::time_point> problem_deadline() const {
    if (!shared_.options.budget.seconds.has_value()) return std::nullopt;
    const double remaining = std::max(0.0, *shared_.options.budget.seconds - elapsed());
    const std::chrono::duration<double> share(remaining / static_cast<double>(problems_left_));
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(share);
  }

  SweepProgress progress(std::size_t index, const ProblemSweep& at) const {
    const Problem& problem = problems_[index];
    SweepProgress progress;
    progress.problem = name_of(problem);
    progress.problem_index = static_cast<std::int64_t>(index);
    progress.problems = static_cast<std::int64_t>(problems_.size());
    progress.done = at.done();
    progress.total = totals_[index];
    if (const Contender* best = at.best(); best != nullptr) {
      progress.best_ns = best->median_ns;
      progress.best_variant = best->variant;
    }
    progress.elapsed_seconds = elapsed();
    progress.eta_seconds = eta_seconds(left_ - at.done());
    return progress;
  }

  // At the pace of the variants that were not known; the budget's end if that comes first.
  std::optional<double> eta_seconds(std::int64_t variants_left) const {
    const std::int64_t evaluated = shared_.summary.evaluated;
    std::optional<double> eta;
    if (evaluated > 0) {
      eta = elapsed() / static_cast<double>(evaluated) * static_cast<double>(variants_left);
    }
    if (shared_.options.budget.seconds.has_value()) {
      const double until_end = std::max(0.0, *shared_.options.budget.seconds - elapsed());
      eta = eta.has_value() ? std::min(*eta, until_end) : until_end;
    }
    return eta;
  }

  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  SweepShared& shared_;
  const std::vector<Problem>& problems_;
  std::function<void(const SweepProgress&)> on_progress_;
  Clock::time_point start_ = Clock::now();
  std::vector<std::int64_t> totals_;  // variants to visit, by problem
  std::int64_t left_ = 0;             // variants of the problems that are not finished
  std::int64_t problems_left_ = 0;
};

// By id, so that of two sweeps that want the same GPUs one gets them all.
Result<std::vector<DeviceLock>> lock_all(const std::string& directory,
                                         const std::vector<DeviceInfo>& devices) {
  std::vector<std::string> ids;
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

Result<SweepSummary> run_sweep(const SweepOptions& options, const std::vector<DeviceInfo>& devices,
                               const std::vector<Problem>& problems, Store& store,
                               const std::function<void(const SweepProgress&)>& on_progress,
                               const std::function<bool()>& should_stop) {
  const DeviceInfo& device = devices.front();
  MGTUNE_ASSIGN(const std::vector<DeviceLock> locks, lock_all(options.lock_directory, devices));
  const GpuRecord gpu = gpu_record(device);
  MGTUNE_ASSIGN(const std::int64_t gpu_id, store.gpu_id(gpu));
  MGTUNE_ASSIGN(const auto deadline, measure_deadline(device.kind, problems));
  const BuildCache cache(FileSystem::real(), options.cache_directory);
  SweepShared shared{
      .options = options,
      .device = device,
      .store = store,
      .gpu_id = gpu_id,
      .gpu = gpu,
      .builder = Builder(cache),
      .cache = cache,
      .pool = CompilePool({options.program, "worker", "compile", compile_target_word(device)},
                          options.compile_processes, kCompileDeadline),
      .workers = MeasurePool(options.program, devices, options.method, deadline),
      .counter = {},
      .counters_refused = 0,
      .journal = SweepJournal(store, options, device, gpu_id),
      .should_stop = should_stop,
      .recorded = {},
      .summary = {},
      .next_request = 1,
  };
  if (options.counters) shared.counter.emplace(options.program, device.id, deadline);
  MGTUNE_TRY(Sweep(shared, problems, on_progress).run());
  return std::move(shared.summary);
}

}  // namespace mgtune

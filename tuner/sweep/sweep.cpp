#include "sweep/sweep.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "dispatch/variant_selection.h"
#include "space/space.h"
#include "sweep/device_lock.h"
#include "sweep/problem_sweep.h"

namespace mgtune {
namespace {

using Clock = std::chrono::steady_clock;

// A light kernel compiles in 0.1 s, a heavy one in some seconds, on a busy machine several times
// that. More than the two minutes after which the host compiler gives up itself, and ends all that
// it started.
constexpr std::chrono::seconds kCompileDeadline{150};

// The first variant of a problem waits for its references as well. Emulation takes about 0.1 s for
// each MiB that a problem moves, times the launches of a check.
constexpr std::chrono::seconds kMeasureDeadline{20};
constexpr double kEmulatedBytesPerSecond = 1 << 20;

Result<std::chrono::milliseconds> measure_deadline(const DeviceInfo& device,
                                                   const std::vector<Problem>& problems) {
  std::int64_t largest = 0;
  for (const Problem& problem : problems) {
    MGTUNE_ASSIGN(const std::int64_t bytes, problem.op->bytes.evaluate(problem.slots));
    largest = std::max(largest, bytes);
  }
  std::chrono::duration<double> deadline = kMeasureDeadline;
  if (device.kind == DeviceKind::cpu) {
    deadline += std::chrono::duration<double>(double(largest) / kEmulatedBytesPerSecond);
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(deadline);
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
      for (const DesignStatistics& design : Space(problem, shared_.device.limits).statistics()) {
        admissible += static_cast<std::int64_t>(design.admissible);
        if (!design.unavailable.empty()) skip(design.design + ": " + design.unavailable);
      }
      if (admissible == 0) {
        skip(problem.op->full_name() + " " + problem.text() + ": no variant serves it on " +
             shared_.device.name);
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
    MGTUNE_TRY(sweep->run(problem_deadline(), report));
    --problems_left_;
    left_ -= totals_[index];
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
    progress.problem = problem.op->full_name() + " " + problem.text();
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

}  // namespace

Result<SweepSummary> run_sweep(const SweepOptions& options, const DeviceInfo& device,
                               const std::vector<Problem>& problems, Store& store,
                               const std::function<void(const SweepProgress&)>& on_progress,
                               const std::function<bool()>& should_stop) {
  MGTUNE_ASSIGN(const DeviceLock lock, DeviceLock::acquire(options.lock_directory, device.id));
  const GpuRecord gpu = gpu_record(device);
  MGTUNE_ASSIGN(const std::int64_t gpu_id, store.gpu_id(gpu));
  MGTUNE_ASSIGN(const auto deadline, measure_deadline(device, problems));
  const BuildCache cache(FileSystem::real(), options.cache_directory);
  SweepShared shared{
      .options = options,
      .device = device,
      .store = store,
      .gpu_id = gpu_id,
      .gpu = gpu,
      .builder = Builder(cache),
      .cache = cache,
      .pool = CompilePool({options.program, "worker", "compile"}, options.compile_processes,
                          kCompileDeadline),
      .worker = MeasureProcess({options.program, "worker", "measure", device.id,
                                options.method.name, options.method.reason},
                               deadline),
      .journal = SweepJournal(store, options, device, gpu_id),
      .should_stop = should_stop,
      .recorded = {},
      .summary = {},
      .next_request = 1,
  };
  MGTUNE_TRY(Sweep(shared, problems, on_progress).run());
  return std::move(shared.summary);
}

}  // namespace mgtune

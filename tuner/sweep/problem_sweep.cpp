#include "sweep/problem_sweep.h"

#include <algorithm>

#include "calibration/calibrate.h"
#include "final/pick.h"
#include "final/sustained.h"
#include "search/search.h"
#include "selection/gpu_similarity.h"
#include "sweep/first_variants.h"
#include "sweep/warm_start.h"
#include "worker/machine_code.h"

namespace mgtune {
namespace {

using Clock = std::chrono::steady_clock;

// How many picks of other problems a turn begins with.
constexpr std::size_t kWinnersNearby = 4;

}  // namespace

Result<std::unique_ptr<ProblemSweep>> ProblemSweep::make(SweepShared& shared,
                                                         const PlannedProblem& planned) {
  const Problem& problem = planned.problem;
  MGTUNE_ASSIGN(TunedView view, view_before_pick(shared, problem, planned.whole_space()));
  KnownResults results(shared.store, shared.builder, shared.cache, shared.device, problem,
                       shared.gpu_id, view.tuned.problem, view.tuned.method, &shared.retries);
  const std::vector<Variant> first =
      first_variants(shared.options.try_first, shared.store.path(), problem, shared.device);
  MGTUNE_ASSIGN(Proposals proposals, Proposals::make(shared, planned, first));
  std::unique_ptr<ProblemSweep> sweep(
      new ProblemSweep(shared, planned, std::move(results), std::move(proposals), std::move(view)));
  MGTUNE_TRY(sweep->recall());
  return sweep;
}

ProblemSweep::ProblemSweep(SweepShared& shared, const PlannedProblem& planned, KnownResults results,
                           Proposals proposals, TunedView view)
    : shared_(shared),
      planned_(planned),
      problem_(planned.problem),
      results_(std::move(results)),
      proposals_(std::move(proposals)),
      view_(std::move(view)),
      contenders_(shared_, planned_, results_, view_),
      same_code_([this](const BuildRecord& build) {
        const std::optional<Build> cached = shared_.cache.load(build.key);
        const bool is_it = cached.has_value() && cached->sha256 == build.sha256;
        return is_it ? machine_code_identity(cached->binary) : std::string();
      }) {}

// Valid results of earlier runs compete with the results of this run, so that a short sweep never
// replaces a better pick of a long one.
Status ProblemSweep::recall() {
  MGTUNE_ASSIGN(const std::vector<OutcomeView> rows,
                shared_.store.outcomes(0, view_.op, view_.problem));
  for (const OutcomeView& row : rows) {
    if (row.gpu_id != shared_.gpu_id) continue;
    const Result<Variant> variant = parse_variant(*problem_.op, row.variant);
    if (!variant.ok() || !planned_.admits(*variant)) continue;
    MGTUNE_ASSIGN(VariantState state, results_.look_up(*variant));
    if (!planned_.visited().admits(*variant)) {  // it competes, but is not visited here
      if (state.contends()) contenders_.recall(state);
      continue;
    }
    if (!state.build.sha256.empty()) shared_.pool.others_compile();
    // The time of another method does not count, but the row's build may be known.
    const bool is_ours = !row.measurement || row.measurement->method == view_.tuned.method;
    if (is_ours) recorded_.emplace(state.variant, row);
    const bool is_retried =
        shared_.retries.outcomes.contains(row.outcome) && state.need != VariantState::Need::nothing;
    if (is_retried && proposals_.exclude(state.variant)) proposals_.retry(*variant);
    if (state.need != VariantState::Need::nothing) continue;
    if (state.contends()) contenders_.recall(state);
    if (proposals_.exclude(state.variant)) recalled_.push_back(std::move(state));
  }
  const auto others =
      std::stable_partition(recalled_.begin(), recalled_.end(),
                            [this](const VariantState& state) { return is_default(state); });
  const Result<Variant> standard = parse_variant(*problem_.op, view_.tuned.default_variant);
  const bool visits_default = standard.ok() && planned_.visited().admits(*standard);
  proposals_.set_default(visits_default ? view_.tuned.default_variant : "");
  // One evaluation is reserved for the default if it has no result yet.
  const bool keeps_place = visits_default && others == recalled_.begin();
  const std::optional<std::int64_t> limit = max_evaluations(shared_.options, planned_);
  if (!limit.has_value()) return {};
  const auto places = static_cast<std::size_t>(*limit - (keeps_place ? 1 : 0));
  const std::size_t max = places - std::min(places, proposals_.retries());
  for (; recalled_.size() > max; recalled_.pop_back()) proposals_.include(recalled_.back().variant);
  return {};
}

Status ProblemSweep::want_too(const std::vector<Variant>& variants) {
  for (const Variant& variant : variants) {
    if (!planned_.visited().admits(variant)) continue;
    MGTUNE_ASSIGN(const VariantState state, results_.look_up(variant));
    if (state.need == VariantState::Need::nothing || !proposals_.exclude(state.variant)) continue;
    proposals_.retry(variant);
    ++wanted_too_;
  }
  return {};
}

Status ProblemSweep::begin_turn(std::optional<Clock::time_point> deadline,
                                const OnVariant& on_variant) {
  stage_ = Stage::turn;
  deadline_ = deadline;
  on_variant_ = on_variant;
  stopped_ = false;
  // Now the picks of all problems before this one are known.
  if (!awaits_search_) MGTUNE_TRY(start_warm());
  return begin();
}

Status ProblemSweep::start_warm() {
  if (!proposals_.awaits_warm_start()) return {};
  MGTUNE_ASSIGN(const WarmSource warm, find_warm_start(shared_.store, problem_, shared_.device,
                                                       planned_.visited(), view_.tuned.method));
  proposals_.start_warm(warm.variants);
  return {};
}

void ProblemSweep::limit_to_default() {
  awaits_search_ = postpones_final_ = true;
  left_in_turn_ = proposals_.excludes(view_.tuned.default_variant) ? 0 : 1;
}

Status ProblemSweep::limit_to(std::optional<std::int64_t> evaluations) {
  awaits_search_ = false;
  postpones_final_ = true;
  left_in_turn_ = evaluations;
  MGTUNE_ASSIGN(
      const std::vector<Variant> winners,
      winners_nearby(shared_.store, problem_, shared_.device, planned_.visited(), kWinnersNearby));
  MGTUNE_TRY(want_too(winners));
  return start_warm();
}

Status ProblemSweep::begin_ahead() {
  stage_ = Stage::ahead;
  deadline_.reset();
  stopped_ = false;
  return begin();
}

Status ProblemSweep::begin() {
  if (std::exchange(has_begun_, true)) return {};
  // Variants that were compiling when an earlier turn ended are requested again.
  for (auto& [request, states] : std::exchange(compiling_, {})) {
    for (VariantState& state : states) compile(std::move(state));
  }
  // Known results are reported before the search is asked for variants. So the search learns from
  // all of them, and the same command ends at the same place, no matter which order the search
  // would prefer now.
  for (const VariantState& state : std::exchange(recalled_, {})) {
    ++requested_;
    MGTUNE_TRY(finish(state, Origin::store));
  }
  if (shared_.options.finals) compile_finalists();
  return {};
}

Status ProblemSweep::advance(std::size_t window) {
  MGTUNE_TRY(want_more(window));
  if (stage_ == Stage::turn && !compiling_.empty() && !stopping()) {
    MGTUNE_TRY(measure_ceilings_once());  // while variants compile
  }
  return measure_ready();
}

// ready_ counts too: a variant may be ready while all GPUs hold finals of other problems.
bool ProblemSweep::waits_for_nothing() {
  const bool has_all = compiling_.empty() && ready_.empty() && !proposals_.is_thinking();
  return measuring_.empty() && (has_all || stopping());
}

std::optional<Clock::time_point> ProblemSweep::wakes_at() const {
  return measuring_.empty() && done_ > 0 ? deadline_ : std::nullopt;
}

GpuPhase ProblemSweep::idle_cause() const {
  if (!ready_.empty() && !measuring_.empty()) return GpuPhase::wait_default;
  if (!compiling_.empty()) return GpuPhase::wait_compile;
  return proposals_.is_thinking() ? GpuPhase::search : GpuPhase::wait_last;
}

bool ProblemSweep::has_more() {
  const std::optional<std::int64_t> limit = max_evaluations(shared_.options, planned_);
  return !shared_.options.finals && !proposals_.exhausted() &&
         (!limit.has_value() || requested_ < *limit + wanted_too_) &&
         (proposals_.retries() > 0 || !settled());
}

bool ProblemSweep::wants_more() {
  return left_in_turn_.value_or(1) > 0 && !stopping() && has_more();
}

bool ProblemSweep::is_over() { return !has_more() && at_work() == 0; }

// Proposed -> wanted: as many as keep the compilers and the measure workers busy.
Status ProblemSweep::want_more(std::size_t window) {
  while (at_work() < window && wants_more()) {
    std::optional<Variant> variant;
    {
      const IdleCause cause(shared_.workers.times(), GpuPhase::search);
      variant = proposals_.next(deadline_);
    }
    if (!variant.has_value()) {
      // If the search was stopped while it looked for a variant, it continues when the problem gets
      // more time. Variants that are in progress, such as the default, still get their results.
      const bool is_stopped = !proposals_.exhausted() && !proposals_.is_thinking();
      if (stage_ == Stage::turn && is_stopped && at_work() == 0) stopped_ = true;
      break;
    }
    ++requested_;
    if (left_in_turn_.has_value()) --*left_in_turn_;
    MGTUNE_TRY(want(*variant));
  }
  return {};
}

// Wanted -> compiling, ready or finished, by what is left to do for the variant.
Status ProblemSweep::want(const Variant& variant) {
  MGTUNE_ASSIGN(VariantState state, results_.look_up(variant));
  if (!state.build.sha256.empty()) shared_.pool.others_compile();
  switch (state.need) {
    case VariantState::Need::nothing: {
      const bool is_new = state.build.key.empty() && !is_recorded(state);  // no build request
      return finish(state, is_new ? Origin::build : Origin::store);
    }
    case VariantState::Need::measure:
      shared_.workers.start();
      return make_ready(std::move(state));
    case VariantState::Need::compile:
      shared_.workers.start();  // while the first variants compile
      compile(std::move(state));
      break;
  }
  return {};
}

// Builds of other machines are not in the cache of this one. If they are not compiled here, the
// worker of a final compiles them one after the other, within the time of the final.
void ProblemSweep::compile_finalists() {
  for (const OutcomeRecord& finalist : contenders_.finalists()) {
    const std::optional<Build> cached = shared_.cache.load(finalist.build.key);
    if (cached.has_value() && cached->sha256 == finalist.build.sha256) continue;
    compile(contenders_.at(finalist.variant));
  }
}

// Variants with the same build wait for one request, even if they belong to two problems.
void ProblemSweep::compile(VariantState state) {
  const auto [build, is_new] = shared_.compiling.try_emplace(state.build.key, shared_.next_request);
  const std::int64_t id = build->second;
  if (!is_new) return compiling_[id].push_back(std::move(state));
  ++shared_.next_request;
  WorkRequest work{id, CompileRequest{request(state), shared_.device.id}};
  std::vector<std::string> kernels = state.kernels;
  std::optional<std::string> group = group_of(state);
  compiling_[id].push_back(std::move(state));
  shared_.pool.submit(std::move(work), std::move(kernels), std::move(group));
}

// A variant that takes long by itself would keep the others of a group waiting. At the end of an
// exhaustive sweep such variants come first, and each of them should have a process of its own.
std::optional<std::string> ProblemSweep::group_of(const VariantState& state) {
  if (!proposals_.in_any_order()) return std::nullopt;
  const bool is_long = proposals_.likely_seconds(state.point).value_or(0) > kSecondsTogether / 2;
  return is_long ? std::nullopt : std::optional(state.group);
}

std::size_t ProblemSweep::most_together() const {
  return proposals_.in_any_order() ? shared_.pool.group_size(view_.op) : 1;
}

void ProblemSweep::forget_measurements() {
  measuring_.clear();
  contenders_.forget_final();
}

bool ProblemSweep::awaits(std::int64_t request) const {
  return compiling_.contains(request) || measuring_.contains(request) ||
         contenders_.awaits(request);
}

bool ProblemSweep::compiles(std::int64_t request) const {
  const auto compiled = compiling_.find(request);
  return compiled != compiling_.end() && !compiled->second.front().cached;
}

std::set<std::int64_t> ProblemSweep::awaited_builds() const {
  std::set<std::int64_t> requests;
  for (const auto& [request, states] : compiling_) requests.insert(request);
  return requests;
}

// Compiling -> ready, or finished if it could not be built or its binary has results already.
Status ProblemSweep::take_build(const WorkReply& reply) {
  auto compiled = compiling_.extract(reply.id);
  if (compiled.empty() || discards(reply)) return {};
  if (reply.compile_seconds.has_value()) {
    proposals_.report_compiled(compiled.mapped().front().point, *reply.compile_seconds);
  }
  for (VariantState& state : compiled.mapped()) {
    MGTUNE_TRY(results_.add_build(state, reply));
    if (state.contends() && contenders_.has(state.variant)) continue;  // a finalist
    MGTUNE_TRY(state.need == VariantState::Need::measure ? make_ready(std::move(state))
                                                         : finish(state, Origin::build));
  }
  return {};
}

// -> ready, or finished with the result of a variant that has the same code. The default itself is
// always measured, because all variants are compared with it.
Status ProblemSweep::make_ready(VariantState state) {
  if (is_default(state)) {
    same_code_.announce(state);
    ready_.push_front(std::move(state));
    return {};
  }
  std::optional<VariantState> next = same_code_.take_over(std::move(state));
  if (!next) return {};
  if (next->need == VariantState::Need::nothing) return finish_same(*next);
  ready_.push_back(*std::move(next));
  return {};
}

// Ready -> measuring, as long as a worker has room. The default is measured first, no matter how
// long it compiles: all variants are compared with it, so it must not be missing when the budget
// ends. Until its result is there, another variant goes only to a GPU that has nothing else to do.
// The request has the time of the fastest variant, so that the worker stops early if a variant is
// slower. Ahead of its turn, a problem leaves the first GPU to the problem with the turn, so that
// no GPU alternates between two problems: a new checker costs two runs of the reference.
Status ProblemSweep::measure_ready() {
  const bool has_turn = stage_ == Stage::turn;
  if (!has_turn && shared_.workers.size() < 2) return {};
  // Other work continues during this call, so the loop below checks all of its conditions
  // afterwards.
  if (has_turn && !ready_.empty() && !stopping()) MGTUNE_TRY(measure_ceilings_once());
  const MeasurePool::Place place =
      has_turn ? MeasurePool::Place::any : MeasurePool::Place::not_first;
  const NamedProblem problem = shared_.named_problem(view_);
  while (!ready_.empty() && shared_.workers.has_room(problem, at_work(), place) &&
         !waits_for_default(place) && !stopping()) {
    auto next = std::ranges::find_if(
        ready_, [this](const VariantState& state) { return is_default(state); });
    if (next == ready_.end()) next = ready_.begin();
    VariantState state = std::move(*next);
    ready_.erase(next);
    MeasureRequest work{request(state)};
    const VariantState* incumbent = contenders_.best();
    if (incumbent != nullptr && !is_default(state)) {
      work.stop_above_ns = race_limit_ns(incumbent->measurement->q3_ns, view_, shared_.device.kind);
      if (follows_clock(view_, shared_.device.kind)) {
        work.stop_above_mhz = incumbent->measurement->clocks.sm_mhz;
      }
    }
    const std::int64_t id = shared_.next_request++;
    measuring_.emplace(id, std::move(state));
    shared_.workers.submit({id, std::move(work)}, place);
  }
  return {};
}

bool ProblemSweep::needs_ceilings() const {
  return !has_ceilings_ && !shared_.options.for_rules && shared_.device.kind != DeviceKind::cpu;
}

Status ProblemSweep::measure_ceilings_once() {
  if (!needs_ceilings()) return {};
  has_ceilings_ = true;
  return measure_ceilings(shared_, problem_, view_);
}

// Measuring -> finished.
Status ProblemSweep::take_measurement(const WorkReply& reply) {
  if (contenders_.awaits(reply.id)) return contenders_.take(reply);
  auto measured = measuring_.extract(reply.id);
  if (measured.empty() || discards(reply)) return {};
  results_.add_measurement(measured.mapped(), reply);
  if (reply.failure != StatusCode::ok) return suspects_.add(std::move(measured.mapped()));
  MGTUNE_TRY(charge_suspects());  // this worker was not killed
  return finish(measured.mapped(), Origin::measurement);
}

// Suspects -> finished.
Status ProblemSweep::charge_suspects() {
  for (const VariantState& state : suspects_.release()) {
    MGTUNE_TRY(finish(state, Origin::measurement));
  }
  return {};
}

// Called if no other variant is left that could show that the machine does not kill every worker.
Status ProblemSweep::probe_suspects() {
  Status well = suspects_.probe(shared_.workers, shared_.next_request++);
  return well.ok() ? charge_suspects() : shared_.interrupted_or(std::move(well));
}

// -> finished: the variant counts from here on, for the search, for racing and for the pick. The
// measure worker gets its next variant before the rows are written to the disk.
Status ProblemSweep::finish(const VariantState& state, Origin origin) {
  const bool evaluated = origin == Origin::measurement ||
                         (origin == Origin::build && state.build.outcome != Outcome::ok);
  ++done_;
  ++(evaluated ? shared_.summary.evaluated : shared_.summary.reused);
  ++shared_.summary.outcomes[state.outcome];
  unsupported_ += state.outcome == Outcome::unsupported ? 1 : 0;
  if (state.contends()) contenders_.add(state);
  MGTUNE_TRY(measure_ready());
  proposals_.report({state.point, state.outcome,
                     state.measurement ? contenders_.compared_ns(*state.measurement) : 0});
  MGTUNE_TRY(record(state, origin));
  if (stage_ == Stage::turn) on_variant_(*this);
  for (const VariantState& same : same_code_.add_result(state)) MGTUNE_TRY(finish_same(same));
  return {};
}

Status ProblemSweep::finish_same(const VariantState& state) {
  ++shared_.summary.same_code;
  return finish(state, Origin::measurement);
}

bool ProblemSweep::is_recorded(const VariantState& state) const {
  const auto row = recorded_.find(state.variant);
  return row != recorded_.end() && row->second.outcome == state.outcome &&
         row->second.build_sha256 == state.build.sha256;
}

bool ProblemSweep::is_default(const VariantState& state) const {
  return state.variant == view_.tuned.default_variant;
}

bool ProblemSweep::waits_for_default(MeasurePool::Place place) const {
  const auto is_it = [this](const VariantState& state) { return is_default(state); };
  const auto is_compiling = [&](const auto& request) {
    return std::ranges::any_of(request.second, is_it);
  };
  const auto is_measuring = [&](const auto& job) { return is_it(job.second); };
  if (std::ranges::any_of(compiling_, is_compiling)) return true;
  return std::ranges::any_of(measuring_, is_measuring) && !shared_.workers.has_idle(place);
}

std::size_t ProblemSweep::at_work() const {
  std::size_t count = ready_.size() + measuring_.size() + same_code_.kept();
  for (const auto& [request, states] : compiling_) count += states.size();
  return count;
}

// Adds the row to the journal, unless the store has it.
Status ProblemSweep::record(const VariantState& state, Origin origin) {
  if (origin == Origin::store && is_recorded(state)) return {};
  return shared_.journal.add(state);  // without the members that only this sweep needs
}

// Records how much of the space each rule excludes. If all results were known, an earlier sweep has
// recorded it.
Status ProblemSweep::record_space() {
  if (shared_.journal.id() == 0) return {};
  return shared_.store.record_spaces(shared_.journal.id(), view_.tuned.problem,
                                     space_records(planned_));
}

Status ProblemSweep::end_turn() {
  stage_ = Stage::waiting;
  has_begun_ = false;
  MGTUNE_TRY(record_space());
  return begin_pick();
}

Status ProblemSweep::hold_final_now() {
  postpones_final_ = false;
  return begin_pick();
}

Status ProblemSweep::begin_pick() {
  using Finals = Contenders::Finals;
  return contenders_.begin_pick(postpones_final_ ? Finals::known : Finals::all, done_ > 0);
}

// Even when the time is over, the default gets its result, so that there is a variant to use and to
// compare with.
bool ProblemSweep::stopping() {
  const bool late = deadline_.has_value() && done_ > 0 && Clock::now() >= *deadline_;
  if (late || shared_.should_stop()) stopped_ = true;
  return stopped_;
}

// Once the target is reached, this does not change, no matter what the search concludes from later
// results.
bool ProblemSweep::settled() {
  const std::optional<double>& target = shared_.options.target;
  settled_ = settled_ || (target.has_value() && proposals_.is_reached(*target));
  return settled_;
}

// Whether the reply says nothing because of the stop signal: see SweepShared::interrupted_or().
bool ProblemSweep::discards(const WorkReply& reply) {
  return reply.outcome != Outcome::ok && shared_.should_stop();
}

VariantRequest ProblemSweep::request(const VariantState& state) const {
  return {shared_.named_problem(view_), state.variant};
}

}  // namespace mgtune

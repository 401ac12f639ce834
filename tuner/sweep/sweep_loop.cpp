#include "sweep/sweep_loop.h"

#include <algorithm>
#include <set>
#include <utility>

namespace mgtune {

SweepLoop::SweepLoop(SweepShared& shared, std::size_t most_ahead)
    : shared_(shared), most_ahead_(most_ahead) {}

SweepLoop::~SweepLoop() { shared_.workers.while_waiting(nullptr); }

Status SweepLoop::run(ProblemSweep& problem,
                      std::optional<std::chrono::steady_clock::time_point> deadline,
                      const ProblemSweep::OnVariant& on_variant, Next next) {
  turn_ = &problem;
  std::erase(ahead_, &problem);
  next_ = std::move(next);
  Status status = problem.begin_turn(deadline, on_variant);
  if (status.ok()) status = take_turn(problem);
  const Status written = write();  // even if the sweep fails: these results are good
  return status.ok() ? written : status;
}

Status SweepLoop::take_turn(ProblemSweep& problem) {
  MGTUNE_TRY(run_variants());
  MGTUNE_TRY(write());
  drop_waiting(problem);
  turn_ = nullptr;
  MGTUNE_TRY(problem.end_turn());
  note_deciding(problem);
  return shared_.counter.has_value() ? decide(0) : Status();
}

void SweepLoop::note_deciding(ProblemSweep& problem) {
  if (problem.is_deciding()) deciding_.push_back(&problem);
}

Status SweepLoop::begin_final(ProblemSweep& problem) {
  MGTUNE_TRY(problem.hold_final_now());
  note_deciding(problem);
  return shared_.counter.has_value() ? decide(0) : Status();
}

Status SweepLoop::hold_final(ProblemSweep& problem) {
  next_ = nullptr;
  MGTUNE_TRY(begin_final(problem));
  MGTUNE_TRY(decide(shared_.workers.size() - 1));
  return write();
}

Status SweepLoop::finish() {
  next_ = nullptr;
  MGTUNE_TRY(decide(0));
  return write();
}

// Waits until at most `most_left` problems are deciding.
Status SweepLoop::decide(std::size_t most_left) {
  while (deciding_.size() > most_left) {
    MGTUNE_TRY(work_ahead());
    make_silence();
    MGTUNE_TRY(write());
    wait();
    for (ProblemSweep* problem : at_work()) problem->take_thought();
    MGTUNE_TRY(receive_builds());
    MGTUNE_TRY(receive_measurements());
  }
  return {};
}

void SweepLoop::give_up(ProblemSweep& problem) {
  std::erase(ahead_, &problem);
  drop_waiting(problem);
}

std::vector<ProblemSweep*> SweepLoop::at_work() const {
  std::vector<ProblemSweep*> problems(ahead_.begin(), ahead_.end());
  if (turn_ != nullptr) problems.insert(problems.begin(), turn_);
  return problems;
}

Status SweepLoop::run_variants() {
  while (true) {
    MGTUNE_TRY(beside([this] { return advance(); }));
    if (turn_->waits_for_nothing()) {
      if (!turn_->has_suspects() || shared_.should_stop()) return {};
      MGTUNE_TRY(turn_->probe_suspects());
      continue;
    }
    make_silence();
    MGTUNE_TRY(write());
    wait();
    for (ProblemSweep* problem : at_work()) problem->take_thought();
    MGTUNE_TRY(receive_builds());
    MGTUNE_TRY(receive_measurements());
  }
}

// While a GPU measures a ceiling, everything else continues: the other variants of the problem that
// has its turn, and other problems.
Status SweepLoop::beside(const std::function<Status()>& measure) {
  shared_.workers.while_waiting([this](WaitSet& waiting) { while_waiting(waiting); });
  const Status measured = measure();
  shared_.workers.while_waiting(nullptr);
  return failure_.ok() ? measured : failure_;
}

// A failure ends the sweep, but only after the GPU has measured the ceiling.
void SweepLoop::while_waiting(WaitSet& waiting) {
  const auto keep = [this](const Status& status) {
    if (failure_.ok()) failure_ = status;
  };
  make_silence();
  for (ProblemSweep* problem : at_work()) problem->take_thought();
  keep(receive_builds());
  keep(receive_measurements());
  if (failure_.ok()) keep(advance());
  if (failure_.ok()) keep(write());
  if (!failure_.ok()) return;
  shared_.pool.join(waiting);
  for (const ProblemSweep* problem : at_work()) problem->join(waiting);
}

// The number of variants between search and result is limited to what keeps the compilers and the
// measure workers busy: each compiler has a group and another one waits for it. Variants that wait
// for a compiler's probe keep nobody busy, so they are added.
std::size_t SweepLoop::window(const ProblemSweep* problem) const {
  const std::size_t together = problem == nullptr ? 1 : problem->most_together();
  return 2 * together * shared_.pool.size() + 2 * shared_.workers.size() + shared_.pool.unproven();
}

Status SweepLoop::advance() {
  MGTUNE_TRY(turn_->advance(window(turn_)));
  // Builds that the turn does not wait for any more would delay the builds of the next problem.
  if (turn_->stopping()) drop_waiting(*turn_);
  return turn_->wants_more() ? Status() : work_ahead();
}

Status SweepLoop::work_ahead() {
  if (shared_.should_stop()) return {};
  std::size_t others = turn_ == nullptr ? 0 : turn_->at_work();
  for (std::size_t place = 0; others < window(turn_) || place < ahead_.size(); ++place) {
    if (place == ahead_.size()) {
      if (!next_ || place == most_ahead_) return {};
      MGTUNE_ASSIGN(ProblemSweep* const next, next_());
      if (next == nullptr) {
        next_ = nullptr;
        return {};
      }
      ahead_.push_back(next);
      MGTUNE_TRY(next->begin_ahead());
    }
    ProblemSweep& problem = *ahead_[place];
    const std::size_t most = window(&problem);
    MGTUNE_TRY(problem.advance(most - std::min(most, others)));
    others += problem.at_work();
    // It still wants more variants if the window is full, or if it waits for its search or its warm
    // start.
    if (problem.wants_more()) return {};
  }
  return {};
}

// Waits until a worker has news or misses its deadline, or until the problem's time is over.
void SweepLoop::wait() {
  const GpuPhase phase = shared_.workers.needs_silence() ? GpuPhase::wait_alone
                         : turn_ == nullptr              ? GpuPhase::wait_decision
                                                         : turn_->idle_cause();
  const IdleCause cause(shared_.workers.times(), phase);
  WaitSet waiting;
  shared_.pool.join(waiting);
  shared_.workers.join(waiting);
  for (const ProblemSweep* problem : at_work()) problem->join(waiting);
  if (const auto deadline = turn_ == nullptr ? std::nullopt : turn_->wakes_at()) {
    waiting.add(*deadline);
  }
  waiting.wait();
}

// Nothing compiles while a variant is measured alone.
void SweepLoop::make_silence() {
  shared_.pool.pause(shared_.workers.needs_silence());
  if (shared_.pool.is_quiet()) shared_.workers.start_alone();
}

// A build may come back after its problem has ended. Nobody takes it then, but it is in the cache.
Status SweepLoop::receive_builds() {
  while (true) {
    Result<std::optional<WorkReply>> next = shared_.pool.poll();
    if (!next.ok()) return shared_.interrupted_or(std::move(next).take_status());
    const std::optional<WorkReply> reply = *std::move(next);
    if (!reply.has_value()) return {};
    std::erase_if(shared_.compiling, [&](const auto& build) { return build.second == reply->id; });
    bool is_compiled = false;
    bool is_awaited = false;
    for (const ProblemSweep* problem : at_work()) {
      is_awaited = is_awaited || problem->awaits(reply->id);
      is_compiled = is_compiled || problem->compiles(reply->id);
    }
    if (reply->outcome != Outcome::ok && shared_.should_stop()) is_compiled = is_awaited = false;
    shared_.summary.compiled += is_compiled ? 1 : 0;
    if (is_awaited && shared_.not_cached.empty()) shared_.not_cached = reply->not_cached;
    for (ProblemSweep* problem : at_work()) MGTUNE_TRY(problem->take_build(*reply));
  }
}

Status SweepLoop::receive_measurements() {
  while (true) {
    const Result<std::optional<WorkReply>> next = shared_.workers.poll();
    if (!next.ok()) {
      for (ProblemSweep* problem : at_work()) problem->forget_measurements();
      for (ProblemSweep* problem : std::exchange(deciding_, {})) problem->forget_measurements();
      return shared_.interrupted_or(next.status());
    }
    if (!next->has_value()) return {};
    MGTUNE_TRY(receive_measurement(**next));
  }
}

Status SweepLoop::receive_measurement(const WorkReply& reply) {
  for (ProblemSweep* problem : deciding_) {
    if (!problem->awaits(reply.id)) continue;
    Status taken = problem->take_measurement(reply);
    std::erase_if(deciding_, [](const ProblemSweep* other) { return !other->is_deciding(); });
    return taken;
  }
  for (ProblemSweep* problem : at_work()) {
    if (problem->awaits(reply.id)) return problem->take_measurement(reply);
  }
  return internal_error("a measurement that nobody asked for");
}

// Results that have arrived together share a transaction.
Status SweepLoop::write() {
  const IdleCause cause(shared_.workers.times(), GpuPhase::store);
  return shared_.journal.write();
}

// A build that the other problem waits for too is not dropped.
void SweepLoop::drop_waiting(ProblemSweep& problem) {
  std::set<std::int64_t> dropped = problem.awaited_builds();
  for (const ProblemSweep* other : ahead_) {
    for (const std::int64_t request : other->awaited_builds()) dropped.erase(request);
  }
  if (dropped.empty()) return;
  for (const std::int64_t at_work : shared_.pool.drop_waiting(dropped)) dropped.erase(at_work);
  std::erase_if(shared_.compiling,
                [&](const auto& build) { return dropped.contains(build.second); });
}

}  // namespace mgtune

#include "sweep/timed_turns.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "final/sustained.h"

namespace mgtune {
namespace {

using Clock = std::chrono::steady_clock;

// The assumed seconds of a final, until one was held, including the time to get the problem ready
// again. Sustained finals are for kernels that depend on the clocks: each of them runs alone for a
// while before each sample.
constexpr double kFinalSeconds = 0.5, kSustainedFinalSeconds = 25;

// A turn ends when its last variants have their results, which may be later than planned. So more
// time is kept for the finals than they are likely to take.
constexpr double kMarginSeconds = 0.5;

// The largest parts of the budget that are reserved for all finals together, and for the longest
// final if it needs more than that. Finals decide between variants that differ by about a percent,
// and a search may gain more.
constexpr double kMostForFinals = 0.15, kMostForOneFinal = 0.5;  // of the budget

constexpr std::size_t kNamed = 3;  // problems with the largest expected gains, in the summary

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

std::vector<std::size_t> served(const std::vector<PlannedProblem>& problems) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (problems[i].is_served()) places.push_back(i);
  }
  return places;
}

std::vector<TurnOrder::Entry> entries_of(const std::vector<PlannedProblem>& problems,
                                         const std::vector<std::size_t>& places) {
  std::vector<TurnOrder::Entry> entries;
  for (const std::size_t place : places) {
    const Problem& problem = problems[place].problem;
    const Result<std::int64_t> bytes = problem.op->bytes.evaluate(problem.slots);
    entries.push_back(
        {&problem, problems[place].weight, bytes.ok() ? static_cast<double>(*bytes) : 0});
  }
  return entries;
}

double time_of(const Contenders& contenders, const VariantState* state) {
  return state == nullptr ? 0 : contenders.compared_ns(*state->measurement);
}

}  // namespace

TimedTurns::TimedTurns(SweepShared& shared, const std::vector<PlannedProblem>& problems,
                       Clock::time_point start, Report report)
    : shared_(shared),
      problems_(problems),
      end_(start + std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double>(*shared.options.budget.seconds))),
      report_(std::move(report)),
      loop_(shared, shared.pool.size() + 1),
      served_(served(problems)),
      order_(entries_of(problems, served_)),
      sweeps_(problems.size()),
      has_final_(problems.size(), false) {}

double TimedTurns::seconds_left() const {
  return std::max(0.0, seconds_between(Clock::now(), end_));
}

Status TimedTurns::run() {
  while (!shared_.should_stop()) {
    if (committed_.empty()) MGTUNE_TRY(commit_next().status());
    if (committed_.empty()) break;
    const bool is_late = seconds_left() - kept_for_finals(std::nullopt) <= 0;
    const bool is_first = !std::exchange(has_taken_turn_, true);
    if (is_late && !is_first) {
      give_up_idle();
      if (committed_.empty()) break;
    }
    const TurnOrder::Turn turn = committed_.front();
    committed_.pop_front();
    MGTUNE_TRY(take_turn(turn));
  }
  return hold_finals();
}

// The default of the first problem is always measured, no matter how small the budget is.
Result<ProblemSweep*> TimedTurns::commit_next() {
  const bool is_first = std::ranges::all_of(sweeps_, [](const auto& sweep) { return !sweep; });
  const double seconds = seconds_left() - kept_for_finals(std::nullopt);
  const std::optional<TurnOrder::Turn> turn =
      order_.next(is_first ? *shared_.options.budget.seconds : seconds);
  if (!turn.has_value()) return nullptr;
  std::unique_ptr<ProblemSweep>& sweep = sweeps_[served_[turn->problem]];
  if (sweep == nullptr) {
    MGTUNE_ASSIGN(sweep, ProblemSweep::make(shared_, problems_[served_[turn->problem]]));
  }
  if (turn->is_default) {
    sweep->limit_to_default();
  } else {
    MGTUNE_TRY(sweep->limit_to(turn->evaluations));
  }
  committed_.push_back(*turn);
  return sweep.get();
}

Status TimedTurns::take_turn(const TurnOrder::Turn& turn) {
  const std::size_t place = served_[turn.problem];
  ProblemSweep& sweep = *sweeps_[place];
  const Clock::time_point begin = Clock::now();
  const std::int64_t done = sweep.done();
  report_(place, sweep);
  const auto report = [&](const ProblemSweep& at) {
    note_finals();
    report_(place, at);
  };
  const double seconds = std::min(turn.seconds, seconds_left() - kept_for_finals(place));
  const auto deadline =
      begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  MGTUNE_TRY(loop_.run(sweep, deadline, report, [this] { return commit_next(); }));
  TurnOrder::Standing standing;
  const Contenders& contenders = sweep.contenders();
  standing.default_ns = time_of(contenders, contenders.of_default());
  standing.best_ns = time_of(contenders, contenders.best());
  standing.copy_ns = sweep.view().copy_ns;
  standing.is_over = sweep.is_over();
  standing.evaluated = sweep.done() - done;
  standing.seconds = seconds_between(begin, Clock::now());
  order_.finish(turn.problem, standing);
  const bool has_time = has_time_for_all_finals() && seconds_of_final(place) <= seconds_left();
  if (!standing.is_over || !has_time || !awaits_final(place) || shared_.should_stop()) return {};
  return loop_.begin_final(note_final(place));
}

// Cancels the planned turns for which no time is left. If a GPU already measures variants of a
// problem, the problem gets its turn even if it is late.
void TimedTurns::give_up_idle() {
  for (const TurnOrder::Turn& turn : std::exchange(committed_, {})) {
    ProblemSweep& sweep = *sweeps_[served_[turn.problem]];
    if (sweep.is_measuring()) {
      committed_.push_back(turn);
    } else {
      loop_.give_up(sweep);
      order_.cancel(turn.problem);
    }
  }
}

double TimedTurns::seconds_of_final(std::size_t problem) const {
  const ProblemSweep& sweep = *sweeps_[problem];
  if (depends_on_clocks(sweep.view(), shared_.device.kind)) {
    return std::max(longest_sustained_, kSustainedFinalSeconds);
  }
  return longest_final_ > 0 ? longest_final_ : kFinalSeconds;
}

// Whether even long finals of all problems fit into the time that is kept for finals. Then a final
// need not wait for the end of the sweep, where some GPUs would have nothing to do.
bool TimedTurns::has_time_for_all_finals() const {
  const double all = kSustainedFinalSeconds * static_cast<double>(served_.size());
  return all <= kMostForFinals * *shared_.options.budget.seconds;
}

// `beginning`: a problem whose turn begins. It may have no contenders yet, but will need a final. A
// final that would take more than its largest part of the budget is not held, so nothing is kept
// for it.
double TimedTurns::kept_for_finals(std::optional<std::size_t> beginning) const {
  const double budget = *shared_.options.budget.seconds;
  double all = 0, longest = 0;
  for (const std::size_t place : served_) {
    if (!awaits_final(place) && place != beginning) continue;
    if (seconds_of_final(place) > kMostForOneFinal * budget) continue;
    const double seconds = seconds_of_final(place) + kMarginSeconds;
    all += seconds / static_cast<double>(shared_.workers.size());
    longest = std::max(longest, seconds);
  }
  return std::min(std::max(all, longest),
                  std::max(kMostForFinals * budget, std::min(longest, kMostForOneFinal * budget)));
}

// Holds the finals, those of the problems with the largest weights first. Each GPU holds one at a
// time. A variant that won an early final may have failed at a later problem; then the problem has
// a final again.
Status TimedTurns::hold_finals() {
  MGTUNE_TRY(hold_waiting());
  bool is_again = false;
  for (const std::size_t place : served_) {
    if (!has_final_[place]) continue;
    MGTUNE_ASSIGN(const bool has_failed, sweeps_[place]->contenders().pick_has_failed());
    if (has_failed) has_final_[place] = false;
    is_again = is_again || has_failed;
  }
  return is_again ? hold_waiting() : Status();
}

Status TimedTurns::hold_waiting() {
  std::vector<std::size_t> places = served_;
  std::ranges::stable_sort(places, std::greater(),
                           [this](std::size_t place) { return problems_[place].weight; });
  for (const std::size_t place : places) {
    if (!awaits_final(place) || shared_.should_stop()) continue;
    if (seconds_of_final(place) > seconds_left()) continue;
    MGTUNE_TRY(loop_.hold_final(note_final(place)));
    note_finals();
  }
  return loop_.finish();
}

bool TimedTurns::awaits_final(std::size_t problem) const {
  const ProblemSweep* const sweep = sweeps_[problem].get();
  return sweep != nullptr && sweep->contenders().size() >= 2 && !has_final_[problem];
}

// Notes that the final of this problem begins now.
ProblemSweep& TimedTurns::note_final(std::size_t problem) {
  has_final_[problem] = true;
  finals_.push_back(sweeps_[problem].get());
  return *sweeps_[problem];
}

// Notes how long the finals that have ended took.
void TimedTurns::note_finals() {
  std::erase_if(finals_, [this](const ProblemSweep* sweep) {
    if (sweep->is_deciding()) return false;
    double& longest =
        depends_on_clocks(sweep->view(), shared_.device.kind) ? longest_sustained_ : longest_final_;
    longest = std::max(longest, sweep->contenders().final_seconds());
    return true;
  });
}

BudgetUse TimedTurns::use() const {
  BudgetUse use;
  double gained = 0, expected = 0, known = 0;
  std::vector<std::pair<double, std::size_t>> left;
  for (std::size_t i = 0; i < served_.size(); ++i) {
    if (!order_.has_begun(i)) {
      ++use.not_begun;
    } else if (order_.is_over(i)) {
      ++use.complete;
    } else if (order_.was_searched(i)) {
      ++use.searched;
    } else {
      ++use.defaults;
    }
    const TurnOrder::Standing& at = order_.standing(i);
    if (at.default_ns > 0 && at.best_ns > 0) {
      gained += std::log(at.default_ns / at.best_ns);
      ++known;
    }
    const double gain = order_.expected_gain(i);
    expected += gain;
    if (gain > 0) left.emplace_back(gain, i);
  }
  const auto count = static_cast<double>(served_.size());
  if (known > 0) use.gained = std::exp(gained / known);
  if (count > 0) use.expected = std::exp(expected / count);
  std::ranges::stable_sort(left, std::greater(), &std::pair<double, std::size_t>::first);
  left.resize(std::min(left.size(), kNamed));
  for (const auto& [gain, i] : left) {
    const Problem& problem = problems_[served_[i]].problem;
    use.most_expected.push_back({problem.op->full_name() + " " + problem.text(), std::exp(gain)});
  }
  return use;
}

}  // namespace mgtune

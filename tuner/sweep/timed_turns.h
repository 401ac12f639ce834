// TimedTurns: runs the problems of a sweep that has a time budget. The problems that are expected
// to gain most get most of the time (sweep/turn_order.h). Everything ends within the budget: first
// the defaults of all problems, then turns of a few variants, and at the end the finals, for which
// some time is reserved. If the budget is long enough for finals of any length, a problem has its
// final as soon as it has no variants left. If there is no time for a problem's final, the problem
// keeps the pick of its single measurements.
//
// Several problems work ahead, so that their variants compile while others are measured. All
// arguments must outlive the object. One thread.

#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sweep/problem_sweep.h"
#include "sweep/sweep.h"
#include "sweep/sweep_loop.h"
#include "sweep/sweep_shared.h"
#include "sweep/turn_order.h"

namespace mgtune {

class TimedTurns {
 public:
  // Called when a turn begins, and after every variant.
  using Report = std::function<void(std::size_t problem, const ProblemSweep& at)>;

  // `start` is when the budget began.
  TimedTurns(SweepShared& shared, const std::vector<PlannedProblem>& problems,
             std::chrono::steady_clock::time_point start, Report report);

  Status run();

  // What the time was used for.
  BudgetUse use() const;

  // By the index of the problem; null if the problem was not begun or no variant serves it.
  const std::vector<std::unique_ptr<ProblemSweep>>& sweeps() const { return sweeps_; }

 private:
  Status take_turn(const TurnOrder::Turn& turn);
  Status hold_finals();
  Status hold_waiting();
  bool awaits_final(std::size_t problem) const;
  ProblemSweep& note_final(std::size_t problem);
  void note_finals();
  Result<ProblemSweep*> commit_next();
  void give_up_idle();
  double seconds_left() const;
  double seconds_of_final(std::size_t problem) const;
  bool has_time_for_all_finals() const;
  double kept_for_finals(std::optional<std::size_t> beginning) const;

  SweepShared& shared_;
  const std::vector<PlannedProblem>& problems_;
  const std::chrono::steady_clock::time_point end_;
  Report report_;
  SweepLoop loop_;
  std::vector<std::size_t> served_;  // the indices in problems_ of the problems in order_
  TurnOrder order_;
  std::deque<TurnOrder::Turn> committed_;  // the next ones
  std::vector<std::unique_ptr<ProblemSweep>> sweeps_;
  std::vector<bool> has_final_;                       // or had it, by the index of the problem
  std::vector<const ProblemSweep*> finals_;           // that are being held
  double longest_final_ = 0, longest_sustained_ = 0;  // seconds; 0: none was held
  bool has_taken_turn_ = false;
};

}  // namespace mgtune

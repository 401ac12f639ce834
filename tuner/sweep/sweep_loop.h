// SweepLoop: gives one problem after the other its turn, and lets the next one work ahead. One
// thread moves the variants of both on: it waits for the next compile or measure worker that has a
// result, so that both kinds of workers are busy at the same time, also while a final is held or a
// ceiling is measured. Before it waits, it writes the results of all that have one by then.
//
// The shared objects must outlive it. One thread.

#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "sweep/problem_sweep.h"
#include "sweep/sweep_shared.h"

namespace mgtune {

class SweepLoop {
 public:
  // The problem whose turn comes after this one; nullptr if there is none. It is called at most
  // once in a turn, when the problem that has the turn wants no further variants. The turn of the
  // problem that it returns must be the next one.
  using Next = std::function<Result<ProblemSweep*>()>;

  explicit SweepLoop(SweepShared& shared);
  SweepLoop(const SweepLoop&) = delete;
  SweepLoop& operator=(const SweepLoop&) = delete;
  ~SweepLoop();

  // The turn of a problem. It ends if all variants or all evaluations of the budget are done, if
  // the target is reached, after `deadline`, or if should_stop() returns true. The problem picks a
  // winner in every case.
  Status run(ProblemSweep& problem, std::optional<std::chrono::steady_clock::time_point> deadline,
             const ProblemSweep::OnVariant& on_variant, Next next);

 private:
  Status take_turn(ProblemSweep& problem);
  Status run_variants();
  Status beside(const std::function<Status()>& decide);
  Status advance();
  Status work_ahead();
  Status receive_builds();
  Status receive_measurements();
  Status receive_measurement(const WorkReply& reply);
  Status write();
  void drop_waiting(ProblemSweep& problem);
  void make_silence();
  void wait();
  void while_waiting(WaitSet& waiting);
  std::size_t window() const;

  SweepShared& shared_;
  ProblemSweep* turn_ = nullptr;   // until its variants are over
  ProblemSweep* ahead_ = nullptr;  // works ahead
  Next next_;                      // empty: it was called
  Status failure_;                 // of what was done beside a final or a ceiling
};

}  // namespace mgtune

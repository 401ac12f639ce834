// SweepLoop: gives one problem after the other its turn, and lets the next ones work ahead. One
// thread moves the variants of all on: it waits for the next compile or measure worker that has a
// result, so that both kinds of workers are busy at the same time, also while a ceiling is
// measured. Before it waits, it writes the results of all that have one by then.
//
// A problem whose turn is over may be deciding: its final waits for a GPU, or one holds it. The
// next problem has its turn meanwhile. But with --counters it waits for the pick, because the
// counters of finalists are read on the first GPU, where nothing else may run then.
//
// The shared objects must outlive it. One thread.

#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "sweep/problem_sweep.h"
#include "sweep/sweep_shared.h"

namespace mgtune {

class SweepLoop {
 public:
  // The problem whose turn comes after those that were returned before; nullptr if there is none.
  // It is called when the problem that has the turn wants no further variants, and neither do those
  // that work ahead. The turns must come in the order in which it returns problems.
  using Next = std::function<Result<ProblemSweep*>()>;

  // At most `most_ahead` problems work ahead.
  explicit SweepLoop(SweepShared& shared, std::size_t most_ahead = 1);
  SweepLoop(const SweepLoop&) = delete;
  SweepLoop& operator=(const SweepLoop&) = delete;
  ~SweepLoop();

  // The turn of a problem. It ends if all variants or all evaluations of the budget are done, if
  // the target is reached, after `deadline`, or if should_stop() returns true. The problem picks a
  // winner in every case, or is deciding. Then it must live until it is not.
  Status run(ProblemSweep& problem, std::optional<std::chrono::steady_clock::time_point> deadline,
             const ProblemSweep::OnVariant& on_variant, Next next);

  // The problem's turn does not come. It works ahead no more; it must not be measured now.
  void give_up(ProblemSweep& problem);

  // After all turns: holds the final that the turns of this problem have put off. Returns when at
  // least one GPU holds no final.
  Status hold_final(ProblemSweep& problem);

  // After all turns: waits until no problem is deciding.
  Status finish();

 private:
  Status take_turn(ProblemSweep& problem);
  Status run_variants();
  Status beside(const std::function<Status()>& measure);
  Status decide(std::size_t most_left);
  Status advance();
  Status work_ahead();
  std::vector<ProblemSweep*> at_work() const;
  void note_deciding(ProblemSweep& problem);
  Status receive_builds();
  Status receive_measurements();
  Status receive_measurement(const WorkReply& reply);
  Status write();
  void drop_waiting(ProblemSweep& problem);
  void make_silence();
  void wait();
  void while_waiting(WaitSet& waiting);
  std::size_t window(const ProblemSweep* problem) const;

  SweepShared& shared_;
  std::size_t most_ahead_;
  ProblemSweep* turn_ = nullptr;     // until its variants are over
  std::deque<ProblemSweep*> ahead_;  // they work ahead, the next one first
  std::vector<ProblemSweep*> deciding_;
  Next next_;       // empty: there is none
  Status failure_;  // of what was done beside a ceiling
};

}  // namespace mgtune

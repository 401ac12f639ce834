// SweepLoop: gives one problem after the other its turn, and lets the next ones work ahead. One
// thread advances the variants of all problems: it waits for the next result of a compile or
// measure worker, so that both kinds of workers are busy at the same time, even while a ceiling is
// measured. Before it waits, it writes all results that have arrived.
//
// A problem whose turn is over may be deciding: its final waits for a GPU or is being held.
// Meanwhile the next problem has its turn. But with --counters the next problem waits for the pick,
// because the counters of finalists are read on the first GPU while nothing else runs there.
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
  // Returns the problem whose turn comes after the problems that it returned before; nullptr if
  // there is none. SweepLoop calls it when neither the problem that has the turn nor the problems
  // that work ahead want further variants. The problems must get their turns in this order.
  using Next = std::function<Result<ProblemSweep*>()>;

  // At most `most_ahead` problems work ahead.
  explicit SweepLoop(SweepShared& shared, std::size_t most_ahead = 1);
  SweepLoop(const SweepLoop&) = delete;
  SweepLoop& operator=(const SweepLoop&) = delete;
  ~SweepLoop();

  // The turn of a problem. It ends if all variants or all evaluations of the budget are done, if
  // the target is reached, after `deadline`, or if should_stop() returns true. The problem picks a
  // winner in every case, or is deciding. A deciding problem must exist until it has decided.
  Status run(ProblemSweep& problem, std::optional<std::chrono::steady_clock::time_point> deadline,
             const ProblemSweep::OnVariant& on_variant, Next next);

  // Tells the loop that the problem will not get its turn, so it stops working ahead. None of its
  // variants may be at a measure worker now.
  void give_up(ProblemSweep& problem);

  // Begins the final that the turns of this problem have postponed, and returns at once. The next
  // problem has its turn meanwhile. But if counters are read, it returns when the final is over.
  Status begin_final(ProblemSweep& problem);

  // Call it after all turns. Begins the final too, but returns when at least one GPU holds no
  // final.
  Status hold_final(ProblemSweep& problem);

  // Call it after all turns: it waits until no problem is deciding.
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
  ProblemSweep* turn_ = nullptr;     // until its variants are done
  std::deque<ProblemSweep*> ahead_;  // the problems that work ahead, the next one first
  std::vector<ProblemSweep*> deciding_;
  Next next_;       // empty: there is none
  Status failure_;  // of work that was done while a ceiling was measured
};

}  // namespace mgtune

// FakeTimer: runs the work and says the next of the times it was given, round and round.

#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "timing/timer.h"

namespace mgtune {

class FakeTimer final : public Timer {
 public:
  explicit FakeTimer(std::vector<double> times_ns) : times_ns_(std::move(times_ns)) {}

  // What tests set.
  std::int64_t turns = 3;  // of the work, each time
  Status failure;

  std::vector<double> bests_ns;  // that it was asked to race against

  const std::string& method() const override {
    static const std::string kMethod = "fake";
    return kMethod;
  }
  Result<Timing> time(const TimedWork& work, const TimingBudget& budget) override {
    MGTUNE_TRY(Status(failure));
    for (std::int64_t turn = 0; turn < turns; ++turn) MGTUNE_TRY(work(turn, nullptr));
    bests_ns.push_back(budget.stop_above_ns);
    Timing timing;
    timing.samples_ns.assign(5, times_ns_[next_++ % times_ns_.size()]);
    timing.clocks.sm_mhz = timing.samples_ns.front();  // so that a test knows whose they are
    return timing;
  }
  Result<TurnTiming> time_in_turn(std::span<const TimedWork>, const TurnBudget&) override {
    return unsupported("nothing is timed in turn here");
  }

 private:
  std::vector<double> times_ns_;
  std::size_t next_ = 0;
};

}  // namespace mgtune

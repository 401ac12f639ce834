// WalkLimit: says when to stop walking through a set of variants that has too many points. A walk
// counts its steps here. It ends after a number of steps, which is the same in every run, or when a
// deadline has passed or a function says so. The deadline and the function are checked only every
// 4096 steps. One thread.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

namespace mgtune {

class WalkLimit {
 public:
  using Clock = std::chrono::steady_clock;
  enum class End : std::uint8_t { none, steps, stopped };  // stopped: by the deadline or function

  // Without arguments there is no limit.
  explicit WalkLimit(std::uint64_t max_steps = std::numeric_limits<std::uint64_t>::max(),
                     std::function<bool()> should_stop = nullptr)
      : max_steps_(max_steps), should_stop_(std::move(should_stop)) {}

  // Starts counting again from 0, for the next walk.
  void restart(std::optional<Clock::time_point> deadline) {
    steps_ = 0;
    end_ = End::none;
    deadline_ = deadline;
  }

  // Call it for each point, and for each prefix of a point, that a walk visits. Once it has
  // returned false, it returns false until restart().
  bool step() {
    if (steps_ == max_steps_ && end_ == End::none) end_ = End::steps;
    if (steps_ % kStepsPerLook == 0 && end_ == End::none && is_stopped()) end_ = End::stopped;
    if (end_ != End::none) return false;
    ++steps_;
    return true;
  }

  End end() const { return end_; }
  std::uint64_t steps() const { return steps_; }

 private:
  static constexpr std::uint64_t kStepsPerLook = 4096;  // some 100 us

  bool is_stopped() const {
    return (deadline_.has_value() && Clock::now() >= *deadline_) ||
           (should_stop_ != nullptr && should_stop_());
  }

  std::uint64_t max_steps_;
  std::function<bool()> should_stop_;
  std::optional<Clock::time_point> deadline_;
  std::uint64_t steps_ = 0;
  End end_ = End::none;
};

}  // namespace mgtune

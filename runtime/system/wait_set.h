// WaitSet: the events that a thread that drives several processes waits for: the first descriptor
// with news, or the first deadline. A new one is built for each wait; one thread.

#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace mgtune {

class WaitSet {
 public:
  using Clock = std::chrono::steady_clock;

  // Adds the event that the descriptor can be read or is at its end. -1 is ignored.
  void add(int descriptor) { descriptors_.push_back({descriptor, POLLIN, 0}); }
  void add(Clock::time_point deadline) { first_ = std::min(first_, deadline); }

  // Returns at once if a deadline has passed, and early if a signal arrives. An empty set does not
  // wait.
  void wait() {
    if (descriptors_.empty() && first_ == Clock::time_point::max()) return;
    constexpr std::int64_t kMaxMs = 1'000'000'000;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(first_ - Clock::now()).count();
    ::poll(descriptors_.data(), descriptors_.size(),
           static_cast<int>(std::clamp<std::int64_t>(left, 0, kMaxMs)));
  }

 private:
  std::vector<pollfd> descriptors_;
  Clock::time_point first_ = Clock::time_point::max();
};

// Waits until source.poll() fails or returns a value. source.join() adds the events to wait for.
template <typename Source>
auto wait_for_next(Source& source) {
  while (true) {
    auto polled = source.poll();
    if (!polled.ok() || polled->has_value()) return polled;
    WaitSet waiting;
    source.join(waiting);
    waiting.wait();
  }
}

}  // namespace mgtune

// WaitSet: what a thread that drives several processes waits for: the first descriptor with news,
// or the first deadline. A new one is built for each wait; one thread.

#pragma once

#include <poll.h>

#include <chrono>
#include <vector>

namespace mgtune {

class WaitSet {
 public:
  using Clock = std::chrono::steady_clock;

  void add(int descriptor);  // until it can be read or is at its end; -1 is ignored
  void add(Clock::time_point deadline);

  // Returns at once if a deadline has passed, and early if a signal arrives. An empty set does not
  // wait.
  void wait();

 private:
  std::vector<pollfd> descriptors_;
  Clock::time_point first_ = Clock::time_point::max();
};

// Waits until source.poll() fails or returns a value, with source.join() for what to wait for.
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

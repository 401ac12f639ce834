// WaitSet: what one thread that drives several processes waits for: the first of them that has
// something to say, or the first deadline. Made anew for each wait; one thread.

#pragma once

#include <poll.h>

#include <chrono>
#include <vector>

namespace mgtune {

class WaitSet {
 public:
  using Clock = std::chrono::steady_clock;

  void add(int descriptor);  // readable, or at its end
  void add(Clock::time_point deadline);

  // Returns at once where a deadline has passed, and early on a signal. For nothing it never waits.
  void wait();

 private:
  std::vector<pollfd> descriptors_;
  Clock::time_point first_ = Clock::time_point::max();
};

}  // namespace mgtune

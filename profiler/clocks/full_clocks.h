// FullClocks: whether a GPU runs as fast as it has been seen to run. A GPU that was idle may need
// some milliseconds until it does, and times that are measured before that are too long.
//
// Plain data; one thread.

#pragma once

#include "clocks/clock_watch.h"

namespace mgtune {

class FullClocks {
 public:
  void see(const ClockSample& reading);

  // Not held down, and both clocks within 5 % of the highest ones that were seen. False if nothing
  // was seen yet, or if NVML does not report the clocks.
  bool holds(const ClockSample& reading) const;

 private:
  double sm_mhz_ = 0, memory_mhz_ = 0;  // the highest ones
};

}  // namespace mgtune

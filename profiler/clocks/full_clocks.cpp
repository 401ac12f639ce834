#include "clocks/full_clocks.h"

#include <algorithm>

namespace mgtune {
namespace {

constexpr double kFull = 0.95;

}  // namespace

void FullClocks::see(const ClockSample& reading) {
  sm_mhz_ = std::max(sm_mhz_, reading.sm_mhz);
  memory_mhz_ = std::max(memory_mhz_, reading.memory_mhz);
}

bool FullClocks::holds(const ClockSample& reading) const {
  if (sm_mhz_ == 0 || memory_mhz_ == 0 || is_throttled(reading.reasons)) return false;
  return reading.sm_mhz >= kFull * sm_mhz_ && reading.memory_mhz >= kFull * memory_mhz_;
}

}  // namespace mgtune

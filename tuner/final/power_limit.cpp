#include "final/power_limit.h"

namespace mgtune {
namespace {

// Attention takes 620 to 640 W of 700 W in bursts on an H200, and reaches the limit without pauses.
constexpr double kNearLimit = 0.8;

// Two variants of attention changed their order by 4 % between bursts and steady state.
constexpr double kMayGain = 0.06;

}  // namespace

bool is_near_power_limit(const ClockRecord& clocks, double power_limit_w) {
  return power_limit_w > 0 && clocks.power_w >= kNearLimit * power_limit_w;
}

double race_limit_ns(const MeasurementRecord& fastest, double power_limit_w) {
  return is_near_power_limit(fastest.clocks, power_limit_w) ? fastest.q3_ns * (1 + kMayGain)
                                                            : fastest.q3_ns;
}

}  // namespace mgtune

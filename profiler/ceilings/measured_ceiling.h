// MeasuredCeiling: the result of measuring a ceiling. Plain data.

#pragma once

#include "clocks/clock_log.h"

namespace mgtune {

struct MeasuredCeiling {
  double rate = 0;      // bytes or floating-point operations a second, of the median
  ClockSummary clocks;  // while the fastest shape was timed
};

}  // namespace mgtune

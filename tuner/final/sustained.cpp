#include "final/sustained.h"

namespace mgtune {
namespace {

// Floating-point operations per byte. While it moves a byte, an H200 does about 15 with fp32 and
// more than 200 with tensor cores (results/h200/calibrate.txt). With fewer operations than
// kIntense, a kernel mostly waits for memory. calibrate.cpp has a lower limit, because a needless
// ceiling costs a second, but a needless sustained final costs 25 s.
constexpr double kIntense = 16;

// From bursts to steady state, the ratio of the times of two variants of attention changed by 4 %,
// and for two other variants by 7 % (results/h200/sustained.txt).
constexpr double kMayGain = 0.07;

}  // namespace

bool depends_on_clocks(const TunedView& problem, DeviceKind device) {
  return device != DeviceKind::cpu && problem.bytes > 0 &&
         problem.flops >= kIntense * problem.bytes;
}

MeasurementRecord at_clock(MeasurementRecord measurement, double sm_mhz) {
  if (sm_mhz <= 0 || measurement.clocks.sm_mhz <= 0) return measurement;
  const double factor = measurement.clocks.sm_mhz / sm_mhz;
  for (double* time :
       {&measurement.median_ns, &measurement.q1_ns, &measurement.q3_ns, &measurement.min_ns,
        &measurement.median_low_ns, &measurement.median_high_ns}) {
    *time *= factor;
  }
  measurement.clocks.sm_mhz = sm_mhz;
  return measurement;
}

double race_limit_ns(double fastest_q3_ns, const TunedView& problem, DeviceKind device) {
  return depends_on_clocks(problem, device) ? fastest_q3_ns * (1 + kMayGain) : fastest_q3_ns;
}

}  // namespace mgtune

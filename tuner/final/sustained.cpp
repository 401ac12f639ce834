#include "final/sustained.h"

namespace mgtune {
namespace {

// Floating-point operations per byte. While it moves a byte, an H200 does about 15 with fp32 and
// more than 200 with tensor cores (results/h200/calibrate.txt). With fewer operations than
// kIntense, a kernel mostly waits for memory. calibrate.cpp has a lower limit, because a needless
// ceiling costs a second, but a needless sustained final costs 25 s.
constexpr double kIntense = 16;

// With fewer operations per byte, memory limits even kernels with wgmma: 990 TFLOP/s and 4.8 TB/s
// of an H200 (NVIDIA's data sheet) are 206.
constexpr double kBoundByArithmetic = 200;

// From bursts to steady state, the ratio of the times of two variants of attention changed by 4 %,
// and for two other variants by 7 % (results/h200/sustained.txt).
constexpr double kMayGain = 0.07;

}  // namespace

bool depends_on_clocks(const TunedView& problem, DeviceKind device) {
  return device != DeviceKind::cpu && problem.bytes > 0 &&
         problem.flops >= kIntense * problem.bytes;
}

bool follows_clock(const TunedView& problem, DeviceKind device) {
  return depends_on_clocks(problem, device) && problem.flops >= kBoundByArithmetic * problem.bytes;
}

double factor_to_clock(const ClockRecord& clocks, double sm_mhz) {
  return sm_mhz > 0 && clocks.sm_mhz > 0 ? clocks.sm_mhz / sm_mhz : 1;
}

double race_limit_ns(double fastest_q3_ns, const TunedView& problem, DeviceKind device) {
  return depends_on_clocks(problem, device) ? fastest_q3_ns * (1 + kMayGain) : fastest_q3_ns;
}

}  // namespace mgtune

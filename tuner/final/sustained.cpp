#include "final/sustained.h"

namespace mgtune {
namespace {

// Floating-point operations per byte. With fewer, memory limits the problem on every GPU that is
// supported: without tensor cores an H200 does 12 operations in the time of a byte, others do more.
constexpr double kIntense = 16;

// Two variants of attention changed their order by 4 %, others by 7 %, between bursts and steady
// state (results/h200/sustained.txt).
constexpr double kMayGain = 0.07;

}  // namespace

bool depends_on_clocks(const TunedView& problem, DeviceKind device) {
  return device != DeviceKind::cpu && problem.bytes > 0 &&
         problem.flops >= kIntense * problem.bytes;
}

double race_limit_ns(double fastest_q3_ns, const TunedView& problem, DeviceKind device) {
  return depends_on_clocks(problem, device) ? fastest_q3_ns * (1 + kMayGain) : fastest_q3_ns;
}

}  // namespace mgtune

#include "sweep/deadline.h"

#include <algorithm>
#include <cstdint>

namespace mgtune {
namespace {

constexpr std::chrono::seconds kMeasureDeadline{20};
// The cpu device itself takes a launch of 20 s to be endless, and says where each thread is.
constexpr std::chrono::seconds kEmulatedDeadline{30};
constexpr std::chrono::seconds kLongest = std::chrono::hours(24);

// Emulation takes about 0.1 s for each MiB that a problem moves, times the launches of a check.
constexpr std::int64_t kEmulatedBytesPerSecond = 1 << 20;

// On a GPU comparing on the host is what takes long: a variant of rmsnorm.forward 8192 x 8192 in
// bf16, 268 MB, took about 2 s beside an H200. This is an eighth of that pace.
constexpr std::int64_t kCheckedBytesPerSecond = 16 << 20;

}  // namespace

Result<std::chrono::milliseconds> measure_deadline(DeviceKind device, const Problem& problem) {
  MGTUNE_ASSIGN(const std::int64_t bytes, problem.op->bytes.evaluate(problem.slots));
  const bool emulated = device == DeviceKind::cpu;
  const std::chrono::seconds extra(std::max<std::int64_t>(bytes, 0) /
                                   (emulated ? kEmulatedBytesPerSecond : kCheckedBytesPerSecond));
  return std::chrono::milliseconds(
      std::min((emulated ? kEmulatedDeadline : kMeasureDeadline) + extra, kLongest));
}

}  // namespace mgtune

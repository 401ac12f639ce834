#include "timing/buffer_rotation.h"

#include <algorithm>

#include "device/cuda/cuda_driver.h"

namespace mgtune {
namespace {

constexpr std::int64_t kCachesFull = 3;
// Each set needs its own allocations and fills. This many sets of 64 KiB are three times an L2 of
// 20 MiB.
constexpr std::int64_t kMaxSets = 1024;

std::string size_text(std::int64_t bytes) {
  if (bytes < 10 << 10) return std::to_string(bytes) + " bytes";
  if (bytes < 10 << 20) return std::to_string(bytes >> 10) + " KiB";
  return std::to_string(bytes >> 20) + " MiB";
}

}  // namespace

BufferRotation plan_buffer_rotation(std::int64_t set_bytes, std::int64_t l2_bytes,
                                    std::int64_t free_bytes) {
  set_bytes = std::max<std::int64_t>(1, set_bytes);
  const std::int64_t target = kCachesFull * l2_bytes;
  const std::int64_t wanted = std::max<std::int64_t>(2, (target + set_bytes - 1) / set_bytes);
  const std::int64_t affordable = std::max<std::int64_t>(1, free_bytes / 10 * 9 / set_bytes);

  BufferRotation rotation;
  rotation.sets = std::min({wanted, kMaxSets, affordable});
  if (rotation.sets == wanted) return rotation;
  const bool one = rotation.sets == 1;
  const std::string sets =
      (one ? "one set" : std::to_string(rotation.sets) + " sets") + " of " + size_text(set_bytes);
  const std::string held =
      rotation.sets * set_bytes < target
          ? sets + (one ? " does" : " do") + " not fill three times the L2, " + size_text(target)
          : "there is " + size_text(free_bytes) + " for " + sets;
  rotation.note = (rotation.sets == kMaxSets ? "problem too small to rotate: "
                                             : "too little free memory to rotate: ") +
                  held;
  return rotation;
}

Result<BufferRotation> plan_buffer_rotation(Device& device, std::int64_t set_bytes) {
  const DeviceInfo& info = device.info();
  if (info.kind == DeviceKind::cpu) return BufferRotation{1, "the same buffers in every launch"};
  MGTUNE_TRY(cuda_driver().status());
  MGTUNE_TRY(device.synchronize(nullptr));  // makes its context current here
  MGTUNE_ASSIGN(const std::int64_t free_bytes, cuda_driver()->free_bytes());
  return plan_buffer_rotation(set_bytes, info.limits.l2_bytes, free_bytes);
}

TimedBuffers timed_buffers(const BufferRotation& rotation, bool turns_through_sets) {
  const bool has_room = rotation.sets > 1;
  if (turns_through_sets) return {has_room ? rotation.sets : 0, rotation.note};
  if (has_room) return {1, ""};
  return {0, "timed between guard bands: too little free memory for tensors besides the check's"};
}

}  // namespace mgtune

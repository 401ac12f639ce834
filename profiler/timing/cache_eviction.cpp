#include "timing/cache_eviction.h"

#include <algorithm>
#include <array>

#include "device/build_module.h"
#include "family/source_tree.h"

namespace mgtune {
namespace {

constexpr char kRead[] = "read<4>";
constexpr std::int64_t kVectorBytes = 16;
constexpr std::uint32_t kThreads = 512;
constexpr std::int64_t kBlocksPerSm = 4;
constexpr std::int64_t kCaches = 3;

std::int64_t block_count(const Device& device) {
  return kBlocksPerSm * std::max<std::int64_t>(1, device.info().limits.sm_count);
}

}  // namespace

Result<std::unique_ptr<CacheEviction>> CacheEviction::make(Device& device, Builder& builder) {
  std::unique_ptr<CacheEviction> eviction(new CacheEviction(device));
  MGTUNE_ASSIGN(
      eviction->module_,
      build_module(device, builder, embedded_source_tree("kernels/common"), "read.cu", {kRead}));
  MGTUNE_ASSIGN(eviction->kernel_, eviction->module_->kernel(kRead));
  eviction->vectors_ =
      std::max<std::int64_t>(1, kCaches * device.info().limits.l2_bytes / kVectorBytes);
  const auto bytes = static_cast<std::size_t>(eviction->vectors_ * kVectorBytes);
  MGTUNE_ASSIGN(eviction->memory_, Buffer::allocate(device, bytes));
  MGTUNE_TRY(device.fill_bytes(eviction->memory_.data(), 0x5a, bytes, nullptr));
  const auto warps = static_cast<std::size_t>(block_count(device) * (kThreads / 32));
  MGTUNE_ASSIGN(eviction->sums_, Buffer::allocate(device, warps * sizeof(std::uint32_t)));
  MGTUNE_TRY(device.synchronize(nullptr));
  return eviction;
}

Status CacheEviction::launch(Stream stream) const {
  void* sums = sums_.data();
  void* memory = memory_.data();
  std::int64_t vectors = vectors_;
  std::array<void*, 3> args = {&sums, &memory, &vectors};
  return device_.launch({.kernel = kernel_,
                         .grid = {static_cast<std::uint32_t>(block_count(device_)), 1, 1},
                         .block = {kThreads, 1, 1},
                         .args = args.data(),
                         .stream = stream});
}

}  // namespace mgtune

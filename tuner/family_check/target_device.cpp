#include "family_check/target_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/text.h"
#include "device/gpu_catalog.h"
#include "plan/absent_gpu.h"

namespace mgtune {
namespace {

constexpr std::string_view kPrefix = "sm_";
constexpr std::int64_t kOldest = 70;
// Used for an architecture without a product in configs/gpus.
constexpr std::int64_t kUsualSms = 100;
constexpr std::int64_t kUsualL2Mb = 32;

}  // namespace

Result<DeviceInfo> target_device(const std::string& arch) {
  std::string_view digits = arch;
  if (digits.starts_with(kPrefix)) digits.remove_prefix(kPrefix.size());
  if (digits.ends_with('a') || digits.ends_with('f')) digits.remove_suffix(1);
  const auto capability = parse_number<std::int64_t>(digits);
  if (!arch.starts_with(kPrefix) || !capability || *capability < kOldest) {
    return invalid_argument(fmt::format(
        "'{}' is no architecture; an architecture is written like sm_80, sm_90 or sm_90a", arch));
  }
  DeviceInfo device;
  device.kind = DeviceKind::cuda;
  device.id = device.name = device.arch = arch;
  device.limits = {*capability, kUsualSms, max_shared_bytes(*capability), kUsualL2Mb << 20};
  MGTUNE_ASSIGN(const std::vector<GpuProduct> products, shipped_gpu_products());
  const auto product =
      std::ranges::find(products, fmt::format("sm_{}", *capability), &GpuProduct::arch);
  if (product != products.end()) {
    device.limits.sm_count = product->sm_count;
    device.limits.l2_bytes = product->l2_mb << 20;
  }
  return device;
}

}  // namespace mgtune

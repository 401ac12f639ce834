#include "plan/absent_gpu.h"

#include <algorithm>

#include "core/text.h"
#include "device/registry.h"

namespace mgtune {

std::int64_t max_shared_bytes(std::int64_t capability) {
  std::int64_t kib = 99;  // 8.6, 8.9, 12.0
  if (capability == 70 || capability == 72) kib = 96;
  if (capability == 75) kib = 64;
  if (capability == 80 || capability == 87) kib = 163;
  if (capability >= 90 && capability < 120) kib = 227;
  return kib * 1024;
}

DeviceInfo device_of(const GpuProduct& product) {
  const std::string_view number = std::string_view(product.arch).substr(sizeof("sm_") - 1);
  DeviceInfo device;
  device.kind = DeviceKind::cuda;
  device.name = product.name;
  device.arch = product.arch;
  device.limits.compute_capability = parse_number<std::int64_t>(number).value_or(0);
  device.limits.sm_count = product.sm_count;
  device.limits.max_shared_bytes = max_shared_bytes(device.limits.compute_capability);
  device.limits.l2_bytes = product.l2_mb << 20;
  device.memory_bytes = product.memory_gb * 1'000'000'000;
  return device;
}

bool is_absent(const DeviceInfo& device) { return device.id.empty(); }

Result<std::vector<DeviceInfo>> select_devices_or_product(const std::string& word) {
  Result<std::vector<DeviceInfo>> here = select_devices(word);
  if (here.ok() || here.status().code() != StatusCode::environment) return here;
  MGTUNE_ASSIGN(const std::vector<GpuProduct> products, shipped_gpu_products());
  const auto product = std::ranges::find_if(
      products, [&](const GpuProduct& known) { return known.is_called(word); });
  if (product == products.end()) return here;
  return std::vector<DeviceInfo>{device_of(*product)};
}

}  // namespace mgtune

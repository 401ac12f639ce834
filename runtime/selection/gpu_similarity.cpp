#include "selection/gpu_similarity.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace mgtune {
namespace {

// "sm_90a" -> 90; 0 if it is not a CUDA architecture.
std::int64_t architecture_number(const std::string& arch) {
  std::int64_t number = 0;
  if (arch.starts_with("sm_")) std::from_chars(arch.data() + 3, arch.data() + arch.size(), number);
  return number;
}

}  // namespace

// A difference of one generation weighs like a factor of 256 in everything else; a difference
// within one generation like 2^4.
double gpu_distance(const GpuRecord& a, const GpuRecord& b) {
  const std::int64_t arch_a = architecture_number(a.arch), arch_b = architecture_number(b.arch);
  const auto generation = static_cast<double>(std::abs(arch_a / 10 - arch_b / 10));
  return 8 * generation + (arch_a != arch_b ? 4 : 0) +
         std::abs(log_extent(a.sm_count) - log_extent(b.sm_count)) +
         std::abs(log_extent(a.max_shared_bytes) - log_extent(b.max_shared_bytes)) +
         std::abs(log_extent(a.l2_bytes) - log_extent(b.l2_bytes));
}

double log_extent(std::int64_t dim) {
  return std::log2(static_cast<double>(std::max<std::int64_t>(dim, 1)));
}

GpuRecord gpu_record(const DeviceInfo& device) {
  GpuRecord record;
  record.model = device.name;
  record.arch = device.arch;
  record.sm_count = device.limits.sm_count;
  record.l2_bytes = device.limits.l2_bytes;
  record.memory_bytes = device.memory_bytes;
  record.max_shared_bytes = device.limits.max_shared_bytes;
  record.mig_profile = device.mig_profile;
  record.emulation = device.kind == DeviceKind::cpu;
  return record;
}

DeviceInfo device_of(const GpuRecord& gpu) {
  DeviceInfo device;
  device.kind = gpu.emulation ? DeviceKind::cpu : DeviceKind::cuda;
  device.name = gpu.model;
  device.arch = gpu.arch;
  const std::int64_t capability =
      gpu.emulation ? kCpuComputeCapability : architecture_number(gpu.arch);
  device.limits = {capability, gpu.sm_count, gpu.max_shared_bytes, gpu.l2_bytes};
  device.memory_bytes = gpu.memory_bytes;
  device.mig_profile = gpu.mig_profile;
  return device;
}

}  // namespace mgtune

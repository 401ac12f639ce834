#include "database/gpu_record.h"

#include <algorithm>
#include <cmath>

namespace mgtune {
namespace {

constexpr double kMemoryTolerance = 0.1;  // of the larger memory

}  // namespace

bool is_same_gpu(const GpuRecord& a, const GpuRecord& b) {
  const auto rest = [](const GpuRecord& gpu) {
    return std::tie(gpu.model, gpu.arch, gpu.sm_count, gpu.l2_bytes, gpu.max_shared_bytes,
                    gpu.mig_profile, gpu.emulation);
  };
  if (rest(a) != rest(b)) return false;
  // A file may have any number, so the difference of two is not computed in integers.
  const auto memory_a = static_cast<double>(a.memory_bytes);
  const auto memory_b = static_cast<double>(b.memory_bytes);
  return a.memory_bytes == b.memory_bytes ||
         std::abs(memory_a - memory_b) <= kMemoryTolerance * std::max(memory_a, memory_b);
}

std::size_t find_same_gpu(std::span<const GpuRecord> gpus, const GpuRecord& gpu) {
  const auto found =
      std::ranges::find_if(gpus, [&](const GpuRecord& known) { return is_same_gpu(known, gpu); });
  return static_cast<std::size_t>(found - gpus.begin());
}

}  // namespace mgtune

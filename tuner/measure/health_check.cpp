#include "measure/health_check.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/build_module.h"
#include "family/source_tree.h"

namespace mgtune {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kBlocks = 4096;  // enough for every SM of any GPU
constexpr std::uint32_t kCount = kThreads * kBlocks;
constexpr std::uint32_t kSeed = 0x6d67746e;

Status run_kernel(Device& device, const Module& module) {
  MGTUNE_ASSIGN(const Kernel* const kernel, module.kernel("health"));
  std::vector<std::uint32_t> result(kCount);
  const std::size_t bytes = result.size() * sizeof result.front();
  MGTUNE_ASSIGN(const Buffer buffer, Buffer::allocate(device, bytes));
  MGTUNE_TRY(device.fill_bytes(buffer.data(), 0, bytes, nullptr));
  void* out = buffer.data();
  std::uint32_t seed = kSeed;
  std::uint32_t count = kCount;
  std::array<void*, 3> args = {&out, &seed, &count};
  MGTUNE_TRY(device.launch(
      {.kernel = kernel, .grid = {kBlocks, 1, 1}, .block = {kThreads, 1, 1}, .args = args.data()}));
  MGTUNE_TRY(device.synchronize(nullptr));
  MGTUNE_TRY(device.copy_to_host(result.data(), buffer.data(), bytes));
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const std::uint32_t right = (i * 2654435761U) ^ kSeed;
    if (result[i] == right) continue;
    return internal_error("a kernel wrote " + std::to_string(result[i]) + " instead of " +
                          std::to_string(right));
  }
  return {};
}

}  // namespace

Status check_health(Device& device, Builder& builder) {
  const DeviceInfo& info = device.info();
  if (info.kind == DeviceKind::cpu) return {};
  MGTUNE_ASSIGN(const std::unique_ptr<Module> module,
                build_module(device, builder, embedded_source_tree("kernels/common"), "health.cu",
                             {"health"}));
  const Status status = run_kernel(device, *module);
  if (status.ok()) return {};
  return environment_error(info.name + " (" + std::to_string(info.index) +
                           ") does not work: " + status.message());
}

}  // namespace mgtune

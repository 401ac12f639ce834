#include "ceilings/ceiling.h"

#include <memory>

#include "ceilings/arithmetic_ceiling.h"
#include "ceilings/memory_ceiling.h"
#include "core/text.h"

namespace mgtune {
namespace {

Result<std::unique_ptr<ArithmeticKernel>> make_kernel(const DeviceInfo& device,
                                                      const std::string& kind) {
  if (kind == "fp32") return make_fma_kernel(device);
  if (kind == "mma_f16") return make_mma_kernel(device, DType::f16);
  if (kind == "mma_bf16") return make_mma_kernel(device, DType::bf16);
  if (kind == "wgmma_f16") return make_wgmma_kernel(device, DType::f16);
  if (kind == "wgmma_bf16") return make_wgmma_kernel(device, DType::bf16);
  return invalid_argument("no ceiling is called '" + kind + "'" +
                          did_you_mean(kind, ceiling_kinds()));
}

}  // namespace

const std::vector<std::string>& ceiling_kinds() {
  static const std::vector<std::string> kKinds = {"copy",     "read",      "fp32",      "mma_f16",
                                                  "mma_bf16", "wgmma_f16", "wgmma_bf16"};
  return kKinds;
}

bool is_memory_ceiling(const std::string& kind) { return kind == "copy" || kind == "read"; }

Result<MeasuredCeiling> measure_ceiling(Device& device, Builder& builder, Timer& timer,
                                        const std::string& kind, std::int64_t bytes) {
  if (is_memory_ceiling(kind)) {
    const MemoryWork work = kind == "copy" ? MemoryWork::copy : MemoryWork::read;
    return measure_memory(device, builder, timer, work, bytes);
  }
  MGTUNE_ASSIGN(const std::unique_ptr<ArithmeticKernel> kernel, make_kernel(device.info(), kind));
  return measure_arithmetic(device, builder, timer, *kernel);
}

}  // namespace mgtune

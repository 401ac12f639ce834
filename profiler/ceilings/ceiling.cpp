#include "ceilings/ceiling.h"

#include "ceilings/arithmetic_ceiling.h"
#include "core/text.h"
#include "system/utc_now.h"

namespace mgtune {
namespace {

Result<ArithmeticKernel> make_kernel(const DeviceInfo& device, const std::string& kind) {
  if (kind == "fp32") return fma_kernel(device);
  if (kind == "mma_f16") return mma_kernel(device, DType::f16);
  if (kind == "mma_bf16") return mma_kernel(device, DType::bf16);
  if (kind == "wgmma_f16") return wgmma_kernel(device, DType::f16);
  if (kind == "wgmma_bf16") return wgmma_kernel(device, DType::bf16);
  return invalid_argument("no ceiling is called '" + kind + "'" +
                          did_you_mean(kind, ceiling_kinds()));
}

Result<CeilingRecord> measure_rate(Device& device, Builder& builder, Timer& timer,
                                   const std::string& kind, std::int64_t bytes) {
  if (is_memory_ceiling(kind)) {
    return measure_memory(device, builder, timer, kind == "copy", bytes);
  }
  MGTUNE_ASSIGN(const ArithmeticKernel kernel, make_kernel(device.info(), kind));
  return measure_arithmetic(device, builder, timer, kernel);
}

}  // namespace

const std::vector<std::string>& ceiling_kinds() {
  static const std::vector<std::string> kKinds = {"copy",     "read",      "fp32",      "mma_f16",
                                                  "mma_bf16", "wgmma_f16", "wgmma_bf16"};
  return kKinds;
}

bool is_memory_ceiling(const std::string& kind) { return kind == "copy" || kind == "read"; }

Result<CeilingRecord> measure_ceiling(Device& device, Builder& builder, Timer& timer,
                                      const std::string& kind, std::int64_t bytes) {
  MGTUNE_ASSIGN(CeilingRecord ceiling, measure_rate(device, builder, timer, kind, bytes));
  ceiling.kind = kind;
  ceiling.method = timer.method();
  ceiling.bytes = is_memory_ceiling(kind) ? bytes : 0;
  ceiling.measured_at = utc_now();
  return ceiling;
}

}  // namespace mgtune

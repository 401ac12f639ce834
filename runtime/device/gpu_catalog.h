// GpuProduct: the facts in configs/gpus about one GPU product: the names that mean it, and the
// figures of its data sheet. Plain data and pure functions.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace mgtune {

struct GpuProduct {
  std::string name;                  // "L4"
  std::vector<std::string> aliases;  // what people type and what the driver reports: "NVIDIA L4"
  std::string arch;                  // "sm_89"
  std::int64_t sm_count = 0, memory_gb = 0, l2_mb = 0;
  struct {
    double bandwidth_gbps = 0, fp32_tflops = 0, fp16_dense_tflops = 0;
    double bf16_dense_tflops = 0;  // 0 if it has no bf16
  } peak;
  std::string source;  // the documents with these figures

  // Whether `word` is its name or an alias. Upper and lower case are equal.
  bool is_called(std::string_view word) const;
};

// invalid_argument: "configs/gpus/l4.json: /peak/fp32_tflops: expected a number, got \"x\"".
Result<GpuProduct> decode_gpu_product(const std::string& file, std::string_view json);

// The products that this binary knows, in the order of their files.
Result<std::vector<GpuProduct>> shipped_gpu_products();

// Compares words; upper and lower case are equal.
bool same_word(std::string_view a, std::string_view b);

}  // namespace mgtune

// ArithmeticKernel: a kernel of kernels/common that does nothing but arithmetic, the launch shapes
// that it is tried in, and whether what it left behind is what its arithmetic gives.
//
// All of them take (float* out, const void* in, int words, int steps): `in` is a table of `words`
// 32-bit words, taken round and round, each step does the same work again, and every block writes
// its own part of `out`. What they compute is written at the head of their sources. Immutable.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/status.h"
#include "device/device.h"

namespace mgtune {

struct ArithmeticShape {
  std::string kernel;  // the instantiation
  std::uint32_t threads = 0;
  std::int64_t blocks_per_sm = 1;
  std::uint32_t shared_bytes = 0;
  std::int64_t block_floats = 0;  // that a block writes
  std::int64_t block_flops = 0;   // of a block in one step
};

class ArithmeticKernel {
 public:
  // What one block has read and written.
  struct Block {
    std::int64_t index = 0;
    std::int64_t steps = 0;
    std::span<const std::uint32_t> in;  // the whole table
    std::span<const float> out;         // block_floats
  };

  virtual ~ArithmeticKernel() = default;
  virtual const std::string& source() const = 0;  // "mma.cu"
  virtual const std::string& arch() const = 0;    // that it is built for
  virtual DType dtype() const = 0;                // of the table's numbers
  virtual const std::vector<ArithmeticShape>& shapes() const = 0;

  // ok, or internal saying what is wrong. Checks a sample of a block's numbers.
  virtual Status check(const ArithmeticShape& shape, const Block& block) const = 0;

 protected:
  ArithmeticKernel() = default;
  ArithmeticKernel(const ArithmeticKernel&) = default;
  ArithmeticKernel& operator=(const ArithmeticKernel&) = default;
};

std::unique_ptr<ArithmeticKernel> make_fma_kernel(const DeviceInfo& device);

// `dtype` is f16 or bf16. unsupported, with the reason, where the device has no such products.
Result<std::unique_ptr<ArithmeticKernel>> make_mma_kernel(const DeviceInfo& device, DType dtype);
Result<std::unique_ptr<ArithmeticKernel>> make_wgmma_kernel(const DeviceInfo& device, DType dtype);

}  // namespace mgtune

// ArithmeticKernel: a kernel of kernels/common that does nothing but arithmetic, the launch shapes
// to try, and a check of its results.
//
// All of them take (float* out, const void* in, int words, int steps). `in` is a table of `words`
// 32-bit words that is read in a circle. Each step does the same work again, and every block writes
// its own part of `out`. The heads of the sources say what they compute. Immutable.

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
  std::int64_t block_floats = 0;  // written by one block
  std::int64_t block_flops = 0;   // done by one block in one step
};

class ArithmeticKernel {
 public:
  // The input and the output of one block.
  struct Block {
    std::int64_t index = 0;
    std::int64_t steps = 0;
    std::span<const std::uint32_t> in;  // the whole table
    std::span<const float> out;         // block_floats
  };

  virtual ~ArithmeticKernel() = default;
  virtual const std::string& source() const = 0;  // "mma.cu"
  virtual const std::string& arch() const = 0;    // the architecture that it is built for
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

// `dtype` is f16 or bf16. unsupported, with the reason, if the device does not have such products.
Result<std::unique_ptr<ArithmeticKernel>> make_mma_kernel(const DeviceInfo& device, DType dtype);
Result<std::unique_ptr<ArithmeticKernel>> make_wgmma_kernel(const DeviceInfo& device, DType dtype);

}  // namespace mgtune

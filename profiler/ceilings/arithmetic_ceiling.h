// Arithmetic ceilings: how many floating-point operations per second a kernel reaches that does
// nothing else. It is the best of several launch shapes, in short bursts: a power limit acts after
// some tenths of a second, and kernels are timed in shorter bursts too.
//
// ArithmeticKernel: such a kernel of kernels/common, the launch shapes to try, and a check of its
// results. All of them take (float* out, const void* in, int words, int steps). `in` is a table of
// `words` 32-bit words that is read in a circle. Each step does the same work again, and every
// block writes its own part of `out`. The heads of the sources say what they compute. Immutable.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ceilings/ceiling.h"
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
  const std::string& source() const { return source_; }  // "mma.cu"
  const std::string& arch() const { return arch_; }      // the architecture that it is built for
  DType dtype() const { return dtype_; }                 // of the table's numbers
  const std::vector<ArithmeticShape>& shapes() const { return shapes_; }

  // ok, or internal saying what is wrong. Checks a sample of the numbers of a block of shapes()[i].
  virtual Status check(std::size_t i, const Block& block) const = 0;

 protected:
  ArithmeticKernel(std::string source, std::string arch, DType dtype)
      : source_(std::move(source)), arch_(std::move(arch)), dtype_(dtype) {}
  ArithmeticKernel(const ArithmeticKernel&) = default;
  ArithmeticKernel& operator=(const ArithmeticKernel&) = default;

  std::string source_, arch_;
  DType dtype_;
  std::vector<ArithmeticShape> shapes_;  // the kernel's constructor adds them
};

std::unique_ptr<ArithmeticKernel> make_fma_kernel(const DeviceInfo& device);

// `dtype` is f16 or bf16. unsupported, with the reason, if the device does not have such products.
Result<std::unique_ptr<ArithmeticKernel>> make_mma_kernel(const DeviceInfo& device, DType dtype);
Result<std::unique_ptr<ArithmeticKernel>> make_wgmma_kernel(const DeviceInfo& device, DType dtype);

// Uses the timer's method, with launches of a millisecond or more. internal if the results of the
// kernel are not those of its arithmetic.
Result<MeasuredCeiling> measure_arithmetic(Device& device, Builder& builder, Timer& timer,
                                           const ArithmeticKernel& kernel);

}  // namespace mgtune

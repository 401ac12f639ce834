// Arithmetic ceilings: how many floating-point operations per second a kernel reaches that does
// nothing else. It is the best of several launch shapes, in short bursts: a power limit acts after
// some tenths of a second, and kernels are timed in shorter bursts too.
//
// ArithmeticKernel: such a kernel of kernels/common, the launch shapes to try, and a check of its
// results. All of them take (float* out, const void* in, int words, int steps). `in` is a table of
// `words` 32-bit words that is read in a circle. Each step does the same work again, and every
// block writes its own part of `out`. The heads of the sources say what they compute. Immutable.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
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

struct ArithmeticKernel {
  // The input and the output of one block.
  struct Block {
    std::int64_t index = 0;
    std::int64_t steps = 0;
    std::span<const std::uint32_t> in;  // the whole table
    std::span<const float> out;         // block_floats
  };

  std::string source;        // "mma.cu"
  std::string arch;          // the architecture that it is built for
  DType dtype = DType::f32;  // of the table's numbers
  std::vector<ArithmeticShape> shapes;
  // ok, or internal with what is wrong. Checks a sample of the numbers of a block of shapes[i].
  std::function<Status(std::size_t i, const Block& block)> check;
};

ArithmeticKernel fma_kernel(const DeviceInfo& device);

// `dtype` is f16 or bf16. unsupported, with the reason, if the device does not have such products.
Result<ArithmeticKernel> mma_kernel(const DeviceInfo& device, DType dtype);
Result<ArithmeticKernel> wgmma_kernel(const DeviceInfo& device, DType dtype);

// Uses the timer's method, with launches of a millisecond or more. internal if the results of the
// kernel are not those of its arithmetic. Of the record, only the rate and the clocks are set.
Result<CeilingRecord> measure_arithmetic(Device& device, Builder& builder, Timer& timer,
                                         const ArithmeticKernel& kernel);

}  // namespace mgtune

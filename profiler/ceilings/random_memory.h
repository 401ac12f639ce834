// RandomMemory: buffers of random numbers for ceilings. With zeros the kernels would be faster than
// with real data (13 % in a matrix product on an H200): fewer wires change, so the clocks stay
// higher. One thread; the device must outlive this object and its buffers.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "build/builder.h"
#include "core/dtype.h"
#include "core/status.h"
#include "device/device.h"

namespace mgtune {

class RandomMemory {
 public:
  // Of numbers of `dtype`: f32, f16 or bf16.
  static Result<RandomMemory> make(Device& device, Builder& builder, DType dtype);

  // A buffer of numbers in [-1, 1) that depend on the seed. They are there when the device has
  // synchronized.
  Result<Buffer> allocate(std::int64_t bytes, std::uint64_t seed);

 private:
  RandomMemory(Device& device, DType dtype) : device_(&device), dtype_(dtype) {}

  Device* device_;
  DType dtype_;
  std::unique_ptr<Module> module_;
  const Kernel* kernel_ = nullptr;
};

}  // namespace mgtune

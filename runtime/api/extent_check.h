// ExtentCheck: refuses dims that no memory can hold. Kernels multiply rows and strides in 64 bits
// and trust the result; with a stride near 2^63 the product wraps, and the kernel would read and
// write anywhere. A launch with dims below 2^20 alone pays for a comparison a dim.
//
// Immutable: any number of threads may check. The operator outlives it.

#pragma once

#include <cstdint>
#include <span>

#include "core/status.h"
#include "family/problem.h"
#include "launch/launch_dims.h"

namespace mgtune {

class ExtentCheck {
 public:
  explicit ExtentCheck(const Binding& binding) : binding_(binding), dims_(*binding.op) {}

  // invalid_argument, naming the tensor, where the dims of a launch make one of 2^48 bytes or more
  // from its first element to its last.
  Status check(std::span<const std::int64_t> dims) const {
    for (const std::int64_t dim : dims) {
      if (dim >= kLarge) return check_tensors(dims);
    }
    return {};
  }

 private:
  // Two factors below it make less than 2^40 elements.
  static constexpr std::int64_t kLarge = std::int64_t{1} << 20U;

  Status check_tensors(std::span<const std::int64_t> dims) const;

  const Binding& binding_;
  LaunchDims dims_;
};

}  // namespace mgtune

// ExtentCheck: refuses dims that no memory can hold. Kernels multiply rows and strides in 64 bits
// and trust the result. With a stride near 2^63 the product wraps, and the kernel would read and
// write anywhere. A launch whose dims are all below 2^20 costs one comparison per dim.
//
// Immutable: any number of threads may check. The operator must outlive it.

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

  // invalid_argument if the number of dims is not the one that the operator declares; then no dim
  // is read. invalid_argument, with the name of the tensor, if the dims give a tensor 2^48 bytes or
  // more from its first element to its last.
  Status check(std::span<const std::int64_t> dims) const {
    if (dims.size() != dims_.size()) return check_tensors(dims);
    for (const std::int64_t dim : dims) {
      if (dim >= kLarge) return check_tensors(dims);
    }
    return {};
  }

 private:
  // The product of two dims below this number is less than 2^40 elements.
  static constexpr std::int64_t kLarge = std::int64_t{1} << 20U;

  Status check_tensors(std::span<const std::int64_t> dims) const;

  const Binding& binding_;
  LaunchDims dims_;
};

}  // namespace mgtune

// What an instruction wrote, compared with what the reference writes from the same inputs.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/dtype.h"

namespace mgtune::engine {

struct BufferDifference {
  std::uint32_t instruction = 0;  // its index in the program
  std::uint32_t buffer = 0;
  double error = 0;  // L2 norm of the difference, divided by that of the reference
};

// The error over the elements that either result has changed. NaN and infinities count as
// infinitely wrong, unless both have the same. `before`, `result` and `reference` have the same
// size.
double relative_error(DType dtype, std::span<const std::byte> before,
                      std::span<const std::byte> result, std::span<const std::byte> reference);

// The largest error that rounding explains, where the results are of this dtype. 0 for integers.
double acceptable_error(DType dtype);

}  // namespace mgtune::engine

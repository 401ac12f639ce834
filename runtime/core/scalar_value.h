// ScalarValue: a scalar kernel argument as its bytes lie in the argument block, and the one place
// where numbers are turned into them: those that programs pass, those that checks pass, and those
// that an operator's expressions give.
//
// Pure functions on plain values: any number of threads may call them.

#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace mgtune {

// In the declared dtype, which lies in the low bytes; the others are zero.
union ScalarValue {
  double f64;
  float f32;
  std::int64_t i64;
  std::int32_t i32;
};

// False where `dtype` cannot hold `value`: an integer dtype not exactly, a floating one not as a
// finite number. Floating dtypes round to nearest even; NaN and infinities stay what they are.
bool encode_scalar(double value, DType dtype, ScalarValue& scalar);

// The same for an exact integer.
bool encode_integer(std::int64_t value, DType dtype, ScalarValue& scalar);

}  // namespace mgtune

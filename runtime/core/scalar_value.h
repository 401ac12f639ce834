// ScalarValue: a scalar kernel argument in the form in which it is in the argument block. All
// numbers are converted here: those of programs, those of checks, and those of an operator's
// expressions.
//
// Pure functions on plain values: any number of threads may call them.

#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace mgtune {

// The value in its declared dtype is in the low bytes. The other bytes are zero.
union ScalarValue {
  double f64;
  float f32;
  std::int64_t i64;
  std::int32_t i32;
};

// Returns false if `dtype` cannot hold `value`. An integer dtype must hold it exactly, a floating
// dtype as a finite number. Floating dtypes round to nearest even. NaN and infinities are kept.
bool encode_scalar(double value, DType dtype, ScalarValue& scalar);

// The same for an exact integer.
bool encode_integer(std::int64_t value, DType dtype, ScalarValue& scalar);

}  // namespace mgtune

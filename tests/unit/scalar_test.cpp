#include "api/scalar.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mgtune {
namespace {

bool fits(double value, DType dtype) {
  ScalarValue scalar;
  return encode_scalar(value, dtype, scalar);
}

TEST(Scalar, ConvertsToTheDeclaredType) {
  ScalarValue scalar;
  ASSERT_TRUE(encode_scalar(1e-5, DType::f32, scalar));
  EXPECT_EQ(scalar.f32, 1e-5F);
  ASSERT_TRUE(encode_scalar(1e-5, DType::f64, scalar));
  EXPECT_EQ(scalar.f64, 1e-5);
  ASSERT_TRUE(encode_scalar(-7, DType::i32, scalar));
  EXPECT_EQ(scalar.i32, -7);
  ASSERT_TRUE(encode_scalar(-7, DType::i64, scalar));
  EXPECT_EQ(scalar.i64, -7);
  ASSERT_TRUE(encode_scalar(1.5, DType::bf16, scalar));
  EXPECT_EQ(scalar.i64, 0x3fc0);
  ASSERT_TRUE(encode_scalar(NAN, DType::f32, scalar));
  EXPECT_TRUE(std::isnan(scalar.f32));
}

TEST(Scalar, RefusesWhatAnIntegerCannotHold) {
  EXPECT_TRUE(fits(2147483647, DType::i32));
  EXPECT_FALSE(fits(2147483648, DType::i32));
  EXPECT_FALSE(fits(0.5, DType::i32));
  EXPECT_FALSE(fits(NAN, DType::i64));
  EXPECT_FALSE(fits(INFINITY, DType::u64));
  EXPECT_TRUE(fits(-9223372036854775808.0, DType::i64));
  EXPECT_FALSE(fits(9223372036854775808.0, DType::i64));
  EXPECT_TRUE(fits(9223372036854775808.0, DType::u64));
  EXPECT_FALSE(fits(-1, DType::u8));
  EXPECT_TRUE(fits(255, DType::u8));
  EXPECT_FALSE(fits(256, DType::u8));
}

}  // namespace
}  // namespace mgtune

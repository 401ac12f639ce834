#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/dtype.h"

namespace mgtune {
namespace {

bool fits(double value, DType dtype) {
  ScalarValue scalar;
  return encode_scalar(value, dtype, scalar);
}

TEST(ScalarValue, ConvertsToTheDeclaredType) {
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

TEST(ScalarValue, RefusesWhatAnIntegerCannotHold) {
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

TEST(ScalarValue, RefusesWhatAFloatingDtypeWouldMakeInfinite) {
  constexpr double kMaxFloat = std::numeric_limits<float>::max();
  EXPECT_TRUE(fits(kMaxFloat, DType::f32));
  EXPECT_FALSE(fits(1e300, DType::f32));
  EXPECT_FALSE(fits(-1e300, DType::f32));
  EXPECT_TRUE(fits(1e300, DType::f64));
  EXPECT_TRUE(fits(65504, DType::f16));
  EXPECT_TRUE(fits(65519, DType::f16)) << "rounds down";
  EXPECT_FALSE(fits(65520, DType::f16));
  EXPECT_FALSE(fits(1e300, DType::f16));
  EXPECT_TRUE(fits(3e38, DType::bf16));
  EXPECT_FALSE(fits(kMaxFloat, DType::bf16)) << "its largest is 3.3895e38";
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    for (const double value : {-HUGE_VAL, HUGE_VAL, std::nan("")}) {
      EXPECT_TRUE(fits(value, dtype)) << to_string(dtype) << " " << value;
    }
  }
}

TEST(ScalarValue, LeavesNothingOfAnEarlierValue) {
  ScalarValue scalar;
  scalar.i64 = -1;
  ASSERT_TRUE(encode_scalar(2, DType::u8, scalar));
  EXPECT_EQ(scalar.i64, 2);
}

TEST(ScalarValue, EncodesExactIntegers) {
  ScalarValue scalar;
  ASSERT_TRUE(encode_integer(INT64_MAX, DType::i64, scalar));
  EXPECT_EQ(scalar.i64, INT64_MAX) << "which no double holds";
  EXPECT_FALSE(encode_integer(-1, DType::u64, scalar));
  EXPECT_FALSE(encode_integer(INT64_C(1) << 31, DType::i32, scalar));
  ASSERT_TRUE(encode_integer(3, DType::f32, scalar));
  EXPECT_EQ(scalar.f32, 3.0F);
  EXPECT_FALSE(encode_integer(70000, DType::f16, scalar));
}

}  // namespace
}  // namespace mgtune

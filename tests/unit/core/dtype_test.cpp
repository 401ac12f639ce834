#include "core/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace mgtune {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float next_above(float value) { return std::nextafter(value, kInfinity); }
float next_below(float value) { return std::nextafter(value, -kInfinity); }

TEST(DType, WordsRoundTripAndUnknownOnesAreNone) {
  for (int i = 0; i <= static_cast<int>(DType::u8); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_string(to_string(dtype)), dtype);
  }
  for (const char* word : {"", "fp16", "F32", "bf16 ", "float"}) {
    EXPECT_FALSE(dtype_from_string(word).has_value()) << word;
  }
}

TEST(DType, SizesAndCudaWords) {
  EXPECT_EQ(size_in_bytes(DType::f64), 8);
  EXPECT_EQ(size_in_bytes(DType::bf16), 2);
  EXPECT_EQ(size_in_bytes(DType::u8), 1);
  EXPECT_EQ(cuda_name(DType::bf16), "__nv_bfloat16");
  EXPECT_EQ(cuda_name(DType::i64), "long long");
  EXPECT_TRUE(is_floating(DType::f16));
  EXPECT_FALSE(is_floating(DType::i32));
}

TEST(F16, EveryPatternRoundTrips) {
  for (std::uint32_t pattern = 0; pattern <= 0xffff; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const float value = float_from_f16(bits);
    const bool nan = (bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0;
    ASSERT_EQ(std::isnan(value), nan) << pattern;
    if (nan) {
      ASSERT_TRUE(std::isnan(float_from_f16(f16_from_float(value)))) << pattern;
    } else {
      ASSERT_EQ(f16_from_float(value), bits) << pattern;
    }
  }
}

TEST(F16, KnownValues) {
  EXPECT_EQ(float_from_f16(0x3c00), 1.0f);
  EXPECT_EQ(float_from_f16(0x7bff), 65504.0f);
  EXPECT_EQ(float_from_f16(0x0400), 0x1p-14f);  // least normal
  EXPECT_EQ(float_from_f16(0x0001), 0x1p-24f);  // least subnormal
  EXPECT_EQ(float_from_f16(0x03ff), 0x1p-14f - 0x1p-24f);
  EXPECT_EQ(float_from_f16(0xfc00), -kInfinity);
  EXPECT_TRUE(std::signbit(float_from_f16(0x8000)));
}

// Between every two neighbours: the middle goes to the even one, anything beside it to the nearer.
TEST(F16, EveryTieGoesToEven) {
  for (std::uint32_t pattern = 0; pattern < 0x7bff; ++pattern) {
    const auto below = static_cast<std::uint16_t>(pattern);
    const auto above = static_cast<std::uint16_t>(pattern + 1);
    const std::uint16_t even = pattern % 2 == 0 ? below : above;
    const float middle = (float_from_f16(below) + float_from_f16(above)) / 2;  // exact
    ASSERT_EQ(f16_from_float(middle), even) << pattern;
    ASSERT_EQ(f16_from_float(next_below(middle)), below) << pattern;
    ASSERT_EQ(f16_from_float(next_above(middle)), above) << pattern;
    ASSERT_EQ(f16_from_float(-middle), even | 0x8000) << pattern;
  }
}

TEST(F16, TooLargeIsInfinityAndTooSmallIsZero) {
  EXPECT_EQ(f16_from_float(65520.0f), 0x7c00);
  EXPECT_EQ(f16_from_float(next_below(65520.0f)), 0x7bff);
  EXPECT_EQ(f16_from_float(-1e30f), 0xfc00);
  EXPECT_EQ(f16_from_float(0x1p-25f), 0x0000);  // a tie, to even
  EXPECT_EQ(f16_from_float(next_above(0x1p-25f)), 0x0001);
  EXPECT_EQ(f16_from_float(-0x1p-149f), 0x8000);
  EXPECT_EQ(f16_from_float(kInfinity), 0x7c00);
}

TEST(BF16, EveryPatternRoundTrips) {
  for (std::uint32_t pattern = 0; pattern <= 0xffff; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const float value = float_from_bf16(bits);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(float_from_bf16(bf16_from_float(value)))) << pattern;
    } else {
      ASSERT_EQ(bf16_from_float(value), bits) << pattern;
    }
  }
}

TEST(BF16, EveryTieGoesToEven) {
  for (std::uint32_t pattern = 0; pattern < 0x7f80; ++pattern) {  // the last one ties to infinity
    const auto even = static_cast<std::uint16_t>(pattern % 2 == 0 ? pattern : pattern + 1);
    const auto middle = std::bit_cast<float>((pattern << 16) | 0x8000u);
    ASSERT_EQ(bf16_from_float(middle), even) << pattern;
    ASSERT_EQ(bf16_from_float(next_below(middle)), pattern) << pattern;
    ASSERT_EQ(bf16_from_float(next_above(middle)), pattern + 1) << pattern;
    ASSERT_EQ(bf16_from_float(-middle), even | 0x8000) << pattern;
  }
}

TEST(BF16, NaNWithLowPayloadStaysNaN) {
  // Its upper half alone would read as infinity.
  const auto nan = std::bit_cast<float>(0x7f800001u);
  EXPECT_TRUE(std::isnan(float_from_bf16(bf16_from_float(nan))));
  EXPECT_TRUE(std::isnan(float_from_f16(f16_from_float(nan))));
  EXPECT_TRUE(std::isnan(float_from_bf16(bf16_from_float(std::bit_cast<float>(0xffffffffu)))));
}

template <typename T>
double element(T value, DType dtype) {
  unsigned char array[2 * sizeof(T) + 1] = {};
  std::memcpy(array + 1 + sizeof(T), &value, sizeof(T));  // unaligned, second
  return element_as_double(array + 1, 1, dtype);
}

TEST(ElementAsDouble, ReadsEveryType) {
  EXPECT_EQ(element(0.1, DType::f64), 0.1);
  EXPECT_EQ(element(0.1f, DType::f32), static_cast<double>(0.1f));
  EXPECT_EQ(element(std::uint16_t{0x3e00}, DType::f16), 1.5);
  EXPECT_EQ(element(std::uint16_t{0xbfc0}, DType::bf16), -1.5);
  EXPECT_EQ(element(std::int64_t{-3}, DType::i64), -3);
  EXPECT_EQ(element(std::uint64_t{1} << 63, DType::u64), 0x1p63);
  EXPECT_EQ(element(std::int32_t{-7}, DType::i32), -7);
  EXPECT_EQ(element(std::uint32_t{0xffffffff}, DType::u32), 4294967295.0);
  EXPECT_EQ(element(std::int8_t{-128}, DType::i8), -128);
  EXPECT_EQ(element(std::uint8_t{200}, DType::u8), 200);
}

}  // namespace
}  // namespace mgtune

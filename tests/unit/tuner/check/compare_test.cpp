#include "check/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TensorLayout rows_of(std::int64_t rows, std::int64_t columns, std::int64_t stride) {
  TensorLayout layout;
  layout.name = "y";
  layout.role = Role::out;
  layout.shape = {rows, columns};
  layout.strides = {stride, 1};
  layout.count = rows * columns;
  layout.span = (rows - 1) * stride + columns;
  return layout;
}

// The reference rounded to float at the places of the layout, poison elsewhere.
Bytes image_of(const TensorLayout& layout, const std::vector<double>& values) {
  Bytes elements(values.size() * sizeof(float));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(values[i]);
    std::memcpy(&elements[i * sizeof value], &value, sizeof value);
  }
  return strided_image(layout, elements);
}

std::vector<double> random_values(std::size_t count) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& value : values) value = normal(random);
  return values;
}

TEST(Compare, EqualIsNoError) {
  const TensorLayout layout = rows_of(3, 4, 4);
  const std::vector<double> reference(12, 0.5);
  const OutputComparison comparison =
      compare_with_reference(layout, image_of(layout, reference), reference, 0, 0);
  EXPECT_EQ(comparison.error, 0);
  EXPECT_EQ(comparison.message, "");
}

TEST(Compare, TheErrorIsRelativeL2) {
  const TensorLayout layout = rows_of(1, 4, 4);
  const std::vector<double> reference{3, 4, 0, 0};  // norm 5
  const OutputComparison comparison =
      compare_with_reference(layout, image_of(layout, {3, 4, 0.3, 0.4}), reference, 0.2, 0);
  EXPECT_NEAR(comparison.error, 0.1, 1e-7);
  EXPECT_EQ(comparison.message, "");
}

TEST(Compare, AboveTheToleranceTheWorstElementIsNamed) {
  const TensorLayout layout = rows_of(2, 3, 5);
  const std::vector<double> reference{1, 1, 1, 1, 1, 1};
  const OutputComparison comparison =
      compare_with_reference(layout, image_of(layout, {1, 1, 1.5, 1, 3, 1}), reference, 1e-3, 0);
  EXPECT_NEAR(comparison.error, std::sqrt(4.25 / 6), 1e-6);
  EXPECT_EQ(
      comparison.message,
      "y[1, 1] is 3, the reference says 1; relative L2 error 0.842 is above 0.001; of 2 wrong "
      "elements the first: y[0, 2] is 1.5, the reference says 1");
}

TEST(Compare, PaddingIsNotLookedAt) {
  const TensorLayout layout = rows_of(3, 2, 7);
  const std::vector<double> reference{1, 2, 3, 4, 5, 6};
  Bytes image = image_of(layout, reference);
  std::memset(&image[2 * sizeof(float)], 0x11, 5 * sizeof(float));
  EXPECT_EQ(compare_with_reference(layout, image, reference, 0, 0).message, "");
}

TEST(Compare, OneWrongElementInAMillionIsFound) {
  const TensorLayout layout = rows_of(1000, 1000, 1000);
  const std::vector<double> reference = random_values(1'000'000);
  std::vector<double> output = reference;
  output.back() += 1;  // relative L2 error 0.001, within the tolerance of bf16
  const OutputComparison comparison =
      compare_with_reference(layout, image_of(layout, output), reference, 0.0045, 0);
  EXPECT_LT(comparison.error, 0.0045);
  EXPECT_THAT(comparison.message, HasSubstr("y[999, 999] is "));
  EXPECT_THAT(comparison.message, HasSubstr("one element may be off by 0.07"));
}

TEST(Compare, RoundingWithinTheToleranceFailsNowhere) {
  const TensorLayout layout = rows_of(1000, 1000, 1000);
  const std::vector<double> reference = random_values(1'000'000);
  std::vector<double> output = reference;
  for (double& value : output) {
    value = float_from_bf16(bf16_from_float(static_cast<float>(value)));
  }
  const OutputComparison comparison =
      compare_with_reference(layout, image_of(layout, output), reference, 0.0045, 0);
  EXPECT_GT(comparison.error, 0.001);
  EXPECT_EQ(comparison.message, "");
}

TEST(Compare, NanAndInfinityFailWhereTheReferenceHasNone) {
  const TensorLayout layout = rows_of(2, 2, 2);
  const std::vector<double> reference{1, 2, 3, 4};
  for (const double bad : {std::nan(""), kInfinity, -kInfinity}) {
    const OutputComparison comparison =
        compare_with_reference(layout, image_of(layout, {1, 2, bad, 4}), reference, 1e9, 0);
    EXPECT_EQ(comparison.error, kInfinity);
    EXPECT_THAT(comparison.message, HasSubstr("y[1, 0] is "));
    EXPECT_THAT(comparison.message, HasSubstr("the reference says 3"));
  }
}

TEST(Compare, FiniteFailsWhereTheReferenceIsNot) {
  const TensorLayout layout = rows_of(1, 3, 3);
  for (const double special : {std::nan(""), kInfinity}) {
    const std::vector<double> reference{1, special, 3};
    EXPECT_THAT(
        compare_with_reference(layout, image_of(layout, {1, 2, 3}), reference, 1e9, 0).message,
        HasSubstr("y[0, 1] is 2, the reference says "));
    EXPECT_EQ(
        compare_with_reference(layout, image_of(layout, {1, special, 3}), reference, 0, 0).message,
        "");
  }
  EXPECT_NE(compare_with_reference(layout, image_of(layout, {1, -kInfinity, 3}),
                                   std::vector<double>{1, kInfinity, 3}, 1e9, 0)
                .message,
            "");
}

TEST(Compare, NothingWrittenIsFoundAndCounted) {
  const TensorLayout layout = rows_of(2, 2, 2);
  const OutputComparison comparison =
      compare_with_reference(layout, Bytes(layout.bytes(), 0xff), random_values(4), 1e9, 0);
  EXPECT_THAT(comparison.message, HasSubstr("y[0, 0] is "));
  EXPECT_THAT(comparison.message, HasSubstr("nan, the reference says "));
  EXPECT_THAT(comparison.message, HasSubstr("4 of 4 elements differ in being finite"));
}

TEST(Compare, AnAllZeroReferenceTakesNoError) {
  const TensorLayout layout = rows_of(1, 2, 2);
  const std::vector<double> zeros{0, 0};
  EXPECT_EQ(compare_with_reference(layout, image_of(layout, zeros), zeros, 0, 0).error, 0);
  const OutputComparison off =
      compare_with_reference(layout, image_of(layout, {0, 1e-20}), zeros, 1e-3, 0);
  EXPECT_EQ(off.error, kInfinity);
  EXPECT_NE(off.message, "");
}

TEST(Compare, AnEmptyTensorPasses) {
  TensorLayout layout = rows_of(1, 4, 4);
  layout.shape = {0, 4};
  layout.count = layout.span = 0;
  EXPECT_EQ(compare_with_reference(layout, {}, {}, 0, 0).message, "");
  EXPECT_EQ(compare_with_reference(layout, {}, {}, 0, 5).message, "");
}

TEST(Compare, IntegersAreExact) {
  TensorLayout layout = rows_of(1, 3, 3);
  layout.dtype = DType::i32;
  const std::vector<std::int32_t> output{1, -2, 1 << 30};
  Bytes image(layout.bytes());
  std::memcpy(image.data(), output.data(), image.size());
  EXPECT_EQ(
      compare_with_reference(layout, image, std::vector<double>{1, -2, 1 << 30}, 0, 0).message, "");
  EXPECT_NE(compare_with_reference(layout, image, std::vector<double>{1, -2, (1 << 30) + 1}, 0, 0)
                .message,
            "");
}

TEST(Compare, SamplingTakesFirstAndLastRow) {
  const TensorLayout layout = rows_of(10, 2, 2);
  const std::vector<double> reference(20, 1);
  const auto passes = [&](std::int64_t wrong_row, std::int64_t sample) {
    std::vector<double> output = reference;
    output[static_cast<std::size_t>(wrong_row * 2)] = 5;
    return compare_with_reference(layout, image_of(layout, output), reference, 1e-3, sample)
        .message.empty();
  };
  for (std::int64_t row = 0; row < 10; ++row) {
    EXPECT_FALSE(passes(row, 0)) << row;
    EXPECT_FALSE(passes(row, 10)) << row;
    EXPECT_EQ(passes(row, 3), row != 0 && row != 4 && row != 9) << row;
    EXPECT_EQ(passes(row, 1), row != 0) << row;
  }
}

TEST(Compare, DifferencesInBitsAreNamed) {
  const TensorLayout layout = rows_of(2, 2, 3);
  const Bytes a = image_of(layout, {1, 2, 0, 4});
  EXPECT_EQ(first_difference(layout, a, a), "");
  EXPECT_EQ(first_difference(layout, a, image_of(layout, {1, 2, -0.0, 4})), "y[1, 0]");
  Bytes other_padding = a;
  other_padding[2 * sizeof(float)] = 0;
  EXPECT_EQ(first_difference(layout, a, other_padding), "");
}

}  // namespace
}  // namespace mgtune

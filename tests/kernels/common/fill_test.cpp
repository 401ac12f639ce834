// The fill kernels of the check, on the cpu device: the same tensor from any launch geometry,
// another from any other seed, and numbers distributed as promised.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/helpers/kernels/cpu_module.h"

namespace mgtune {
namespace {

constexpr std::size_t kCount = 200'000;

std::string name(const std::string& kernel, DType dtype) {
  return kernel + "<" + std::string(cuda_name(dtype)) + ">";
}

class Fill : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::vector<std::string> kernels;
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      kernels.push_back(name("fill_normal", dtype));
      kernels.push_back(name("fill_uniform", dtype));
    }
    auto built = CpuModule::build("kernels/common", "fill.cu", kernels);
    ASSERT_TRUE(built.ok()) << built.status().message();
    module_.emplace(*std::move(built));
  }
  static void TearDownTestSuite() { module_.reset(); }
  void SetUp() override { ASSERT_TRUE(module_.has_value()); }

  static std::vector<double> normal(DType dtype, std::uint64_t seed, std::size_t count = kCount,
                                    std::uint32_t grid = 64, std::uint32_t block = 128) {
    return filled(dtype, count, [&](void* out) {
      return module_->launch(name("fill_normal", dtype), grid, block, out,
                             static_cast<std::int64_t>(count), seed);
    });
  }

  static std::vector<double> uniform(DType dtype, std::uint64_t seed, float low, float high) {
    return filled(dtype, kCount, [&](void* out) {
      return module_->launch(name("fill_uniform", dtype), 64, 128, out,
                             static_cast<std::int64_t>(kCount), seed, low, high);
    });
  }

 private:
  template <class Launch>
  static std::vector<double> filled(DType dtype, std::size_t count, const Launch& launch) {
    auto tensor = DeviceTensor::poisoned(module_->device(), dtype, count);
    EXPECT_TRUE(tensor.ok()) << tensor.status().message();
    const Status status = launch(tensor->data());
    EXPECT_TRUE(status.ok()) << status.message();
    return tensor->download().value();
  }

  static inline std::optional<CpuModule> module_;
};

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// The mean of products of the values with themselves, `distance` places on.
double correlation(const std::vector<double>& values, std::size_t distance) {
  double sum = 0;
  for (std::size_t i = distance; i < values.size(); ++i) sum += values[i] * values[i - distance];
  return sum / static_cast<double>(values.size() - distance);
}

double share_beyond(const std::vector<double>& values, double limit) {
  const auto count =
      std::ranges::count_if(values, [&](double value) { return std::abs(value) > limit; });
  return static_cast<double>(count) / static_cast<double>(values.size());
}

// The bounds are five standard errors of 200,000 samples; the seed is fixed, so they never flake.
TEST_F(Fill, NormalHasItsMomentsAndTails) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    SCOPED_TRACE(to_string(dtype));
    const std::vector<double> values = normal(dtype, 42);
    EXPECT_NEAR(mean(values), 0.0, 0.0112);
    EXPECT_NEAR(correlation(values, 0), 1.0, 0.0158);  // the variance
    for (const std::size_t distance : {1, 2, 32, 128, 8192}) {
      EXPECT_NEAR(correlation(values, distance), 0.0, 0.0115) << distance;
    }
    EXPECT_NEAR(share_beyond(values, 1.0), 0.3173, 0.0052 + 0.003);  // 0.003: rounding at the limit
    EXPECT_NEAR(share_beyond(values, 2.0), 0.0455, 0.0024 + 0.001);
    EXPECT_NEAR(share_beyond(values, 3.0), 0.0027, 0.0006 + 0.0001);
    EXPECT_EQ(share_beyond(values, 6.8), 0.0);
    EXPECT_GT(share_beyond(values, 3.9), 0.0);
  }
}

TEST_F(Fill, NormalIsSymmetric) {
  const std::vector<double> values = normal(DType::f32, 42);
  double cubes = 0;
  for (const double value : values) cubes += value * value * value;
  EXPECT_NEAR(cubes / static_cast<double>(values.size()), 0.0, 0.0433);
  EXPECT_NEAR(static_cast<double>(std::ranges::count_if(values, [](double v) { return v > 0; })) /
                  static_cast<double>(values.size()),
              0.5, 0.0056);
}

TEST_F(Fill, GivesTheSameTensorFromAnyGeometry) {
  const std::vector<double> expected = normal(DType::f32, 7, 1000);
  EXPECT_EQ(normal(DType::f32, 7, 1000, 1, 32), expected);
  EXPECT_EQ(normal(DType::f32, 7, 1000, 3, 96), expected);
  EXPECT_EQ(normal(DType::f32, 7, 1000, 40, 256), expected);
}

TEST_F(Fill, GivesAPrefixForASmallerCount) {
  std::vector<double> longer = normal(DType::f32, 7, 1000);
  longer.resize(10);
  EXPECT_EQ(normal(DType::f32, 7, 10), longer);
}

TEST_F(Fill, SeedsGiveUnrelatedTensors) {
  const std::vector<double> one = normal(DType::f32, 1);
  const std::vector<double> two = normal(DType::f32, 2);
  double products = 0;
  for (std::size_t i = 0; i < kCount; ++i) products += one[i] * two[i];
  EXPECT_NEAR(products / static_cast<double>(kCount), 0.0, 0.0112);
  // Neighbouring seeds are no shifted copies of each other.
  EXPECT_EQ(std::ranges::search(two, std::span(one).subspan(100, 4)).begin(), two.end());
}

TEST_F(Fill, RoundsTheSameNumbersToEachDType) {
  const std::vector<double> exact = normal(DType::f32, 9, 1000);
  const std::vector<double> half = normal(DType::f16, 9, 1000);
  const std::vector<double> brain = normal(DType::bf16, 9, 1000);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const auto value = static_cast<float>(exact[i]);
    EXPECT_EQ(half[i], float_from_f16(f16_from_float(value)));
    EXPECT_EQ(brain[i], float_from_bf16(bf16_from_float(value)));
  }
}

TEST_F(Fill, UniformStaysInItsRangeAndFillsIt) {
  const std::vector<double> values = uniform(DType::f32, 3, -2.0f, 6.0f);
  EXPECT_NEAR(mean(values), 2.0, 0.0259);
  std::vector<int> bins(16);
  for (const double value : values) {
    ASSERT_GE(value, -2.0);
    ASSERT_LT(value, 6.0);
    ++bins[static_cast<std::size_t>((value + 2.0) * 2.0)];
  }
  EXPECT_THAT(bins, testing::Each(testing::AllOf(testing::Ge(11958), testing::Le(13042))));
}

TEST_F(Fill, UniformOfAnEmptyRangeIsItsLowerEnd) {
  EXPECT_THAT(uniform(DType::f32, 3, 1.5f, 1.5f), testing::Each(1.5));
}

}  // namespace
}  // namespace mgtune

// <mg/exp2_polynomial.cuh> on the cpu device.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/helpers/kernels/kernel_text.h"

namespace mgtune {
namespace {

constexpr char kPowersSource[] = R"(
#include <mg/exp2_polynomial.cuh>

__global__ void powers(const float* x, float* y, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) y[i] = mg::exp2_polynomial(x[i]);
}
)";

std::vector<float> powers_of_two(const std::vector<float>& exponents) {
  static const KernelText* kernels = [] {
    auto text = KernelText::build(kPowersSource, {"powers"});
    EXPECT_TRUE(text.ok()) << text.status().message();
    return new KernelText(*std::move(text));
  }();
  const HostArray<float> x(kernels->device(), exponents.size());
  const HostArray<float> y(kernels->device(), exponents.size());
  for (std::size_t i = 0; i < exponents.size(); ++i) x[i] = exponents[i];
  const Status ran =
      kernels->launch("powers", {}, x.data(), y.data(), static_cast<int>(exponents.size()));
  EXPECT_TRUE(ran.ok()) << ran.message();
  std::vector<float> powers(exponents.size());
  for (std::size_t i = 0; i < exponents.size(); ++i) powers[i] = y[i];
  return powers;
}

// Steps that are no fraction of 1 reach every part of [-0.5, 0.5], and the ends of these ranges
// come by themselves. Below 2^-126 a GPU keeps fewer digits.
TEST(MgExp2Polynomial, IsAccurateFromTheSmallestNormalNumberOn) {
  std::vector<float> exponents;
  for (double x = -126.0; x <= 127.0; x += 1.0 / 4099.0) exponents.push_back(static_cast<float>(x));
  for (double x = -125.5; x <= 127.0; x += 0.5) exponents.push_back(static_cast<float>(x));
  const std::vector<float> powers = powers_of_two(exponents);
  double largest = 0.0;
  for (std::size_t i = 0; i < exponents.size(); ++i) {
    const double expected = std::exp2(static_cast<double>(exponents[i]));
    largest = std::max(largest, std::abs(powers[i] / expected - 1.0));
  }
  EXPECT_LT(largest, 7.6e-5);
  EXPECT_GT(largest, 7.4e-5);  // what the header says is no exaggeration
}

// What softmax adds up: exponents close to 0.
TEST(MgExp2Polynomial, IsAccurateNearZero) {
  std::vector<float> exponents;
  for (int i = -200000; i <= 200000; ++i) exponents.push_back(static_cast<float>(i * 1e-5));
  const std::vector<float> powers = powers_of_two(exponents);
  for (std::size_t i = 0; i < exponents.size(); ++i) {
    const double expected = std::exp2(static_cast<double>(exponents[i]));
    ASSERT_NEAR(powers[i] / expected, 1.0, 7.6e-5) << exponents[i];
  }
}

TEST(MgExp2Polynomial, SmallPowersAreZero) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float power : powers_of_two({-126.51f, -127.0f, -127.5f, -128.0f, -150.0f, -1000.0f,
                                          -8388608.0f, -1e30f, -3.4e38f, -kInfinity})) {
    EXPECT_EQ(power, 0.0f);
    EXPECT_FALSE(std::signbit(power));
  }
}

TEST(MgExp2Polynomial, NanStaysNan) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float power : powers_of_two({kNan, -kNan})) EXPECT_TRUE(std::isnan(power));
}

}  // namespace
}  // namespace mgtune

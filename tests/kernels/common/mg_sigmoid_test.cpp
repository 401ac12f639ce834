// <mg/sigmoid.cuh>, <mg/row_split.cuh> and what <mg/math.cuh> has for them, on the cpu device.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/helpers/kernels/kernel_text.h"
#include "tests/helpers/kernels/special_gates.h"

namespace mgtune {
namespace {

constexpr char kSigmoidSource[] = R"(
#include <mg/row_split.cuh>
#include <mg/sigmoid.cuh>
#include <cuda_fp16.h>

template <class T>
__global__ void sigmoids(const float* x, float* value, float* rest, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    const mg::Sigmoid s = mg::sigmoid<T>(x[i]);
    value[i] = s.value;
    rest[i] = s.rest;
  }
}

// Each beside the next one, and beside the one before.
__global__ void pairs_of_sigmoids(const float* x, float* first, float* second, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    float values[2];
    mg::sigmoid_of_two<__half>(x[i], x[(i + 1) % count], values);
    first[i] = values[0];
    second[(i + 1) % count] = values[1];
  }
}

// Of a tensor whose rows are `stride` elements apart, vectors of 2 elements.
template <class Tile>
__global__ void offsets(mg::i64 start, mg::u32 columns, mg::u64 reciprocal, mg::i64 stride,
                        mg::u32 vectors, mg::i64* wrong) {
  const Tile tile(start, columns, reciprocal);
  for (mg::u32 ahead = threadIdx.x; ahead < vectors; ahead += blockDim.x) {
    const mg::i64 vector = start + ahead;
    const mg::i64 expected = vector / columns * stride + vector % columns * 2;
    if (tile.template offset<2>(ahead, stride) != expected) wrong[threadIdx.x] += 1;
  }
}
)";

class MgSigmoid : public testing::Test {
 protected:
  static const KernelText& kernels() {
    static const KernelText* built = [] {
      auto text = KernelText::build(kSigmoidSource,
                                    {"sigmoids<float>", "sigmoids<__half>", "pairs_of_sigmoids",
                                     "offsets<mg::WideRows>", "offsets<mg::NarrowRows>"});
      EXPECT_TRUE(text.ok()) << text.status().message();
      return new KernelText(*std::move(text));
    }();
    return *built;
  }
};

TEST_F(MgSigmoid, KeepsItsRelativeAccuracyOnBothSides) {
  std::vector<double> gates = special_gates();
  for (int i = -400; i <= 400; ++i) gates.push_back(0.25 * i + 0.01);
  const int count = static_cast<int>(gates.size());
  const HostArray<float> x(kernels().device(), gates.size());
  const HostArray<float> value(kernels().device(), gates.size());
  const HostArray<float> rest(kernels().device(), gates.size());
  for (std::size_t i = 0; i < gates.size(); ++i) x[i] = static_cast<float>(gates[i]);
  for (const bool wide : {true, false}) {
    const Status ran = kernels().launch(wide ? "sigmoids<float>" : "sigmoids<__half>", {}, x.data(),
                                        value.data(), rest.data(), count);
    ASSERT_TRUE(ran.ok()) << ran.message();
    for (std::size_t i = 0; i < gates.size(); ++i) {
      const double g = x[i];
      if (std::isnan(g)) {
        EXPECT_TRUE(std::isnan(value[i]) && std::isnan(rest[i]));
        continue;
      }
      const double size = std::min(std::abs(g), 130.0);
      const double relative = wide ? 0x1p-21 : 0x1p-21 + size * 0x1p-24;
      const double least = wide ? 0x1p-149 : 0x1p-126;
      const double expected = 1.0 / (1.0 + std::exp(-g)), others = 1.0 / (1.0 + std::exp(g));
      EXPECT_NEAR(value[i], expected, relative * expected + least) << g;
      EXPECT_NEAR(rest[i], others, relative * others + least) << g;
    }
  }
}

// Large, infinite and undefined gates do not reach their neighbours.
TEST_F(MgSigmoid, OfTwoKeepsTheAccuracyOfEach) {
  std::vector<double> gates;
  for (const double gate : special_gates()) {
    for (const double neighbour : {-0.7, gate, -gate, 90.0})
      gates.insert(gates.end(), {gate, neighbour});
  }
  const int count = static_cast<int>(gates.size());
  const HostArray<float> x(kernels().device(), gates.size());
  const HostArray<float> first(kernels().device(), gates.size());
  const HostArray<float> second(kernels().device(), gates.size());
  for (std::size_t i = 0; i < gates.size(); ++i) x[i] = static_cast<float>(gates[i]);
  const Status ran =
      kernels().launch("pairs_of_sigmoids", {}, x.data(), first.data(), second.data(), count);
  ASSERT_TRUE(ran.ok()) << ran.message();
  for (std::size_t i = 0; i < gates.size(); ++i) {
    const double g = x[i];
    for (const double value : {first[i], second[i]}) {
      if (std::isnan(g)) {
        EXPECT_TRUE(std::isfinite(value));
        continue;
      }
      const double expected = 1.0 / (1.0 + std::exp(-g));
      const double relative = 0x1p-21 + std::min(std::abs(g), 130.0) * 0x1p-24;
      EXPECT_NEAR(value, expected, relative * expected + 0x1p-126) << g;
    }
  }
}

TEST_F(MgSigmoid, RowSplitFindsEveryPlace) {
  const HostArray<long long> wrong(kernels().device(), 32);
  for (std::size_t i = 0; i < 32; ++i) wrong[i] = 0;
  for (const unsigned int columns :
       {1u, 2u, 3u, 7u, 41u, 1376u, 1792u, 65537u, 131071u, 262143u, 262144u}) {
    const unsigned long long reciprocal = ((1ull << 62) + columns - 1) / columns;
    for (const long long start : {0ll, 5ll, 262143ll, 999'999'937ll, (1ll << 44) - 9000}) {
      for (const long long stride : {2ll * columns, 2ll * columns + 6, 0ll}) {
        const Status narrow = kernels().launch("offsets<mg::NarrowRows>", {}, start, columns,
                                               reciprocal, stride, 8192u, wrong.data());
        const Status wide =
            kernels().launch("offsets<mg::WideRows>", {}, start, columns, reciprocal, stride,
                             std::min(columns, 8192u), wrong.data());
        ASSERT_TRUE(narrow.ok()) << narrow.message();
        ASSERT_TRUE(wide.ok()) << wide.message();
      }
    }
    for (std::size_t i = 0; i < 32; ++i) ASSERT_EQ(wrong[i], 0) << columns << " columns";
  }
}

}  // namespace
}  // namespace mgtune

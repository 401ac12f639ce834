// <mg/largest.cuh> and <mg/column_key.cuh> on the cpu device.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/helpers/kernels/kernel_text_fixture.h"

namespace mgtune {
namespace {

constexpr char kLargestSource[] = R"(
#include <mg/column_key.cuh>
#include <mg/largest.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>

template <int kThreads>
__global__ void largest(const float* in, float* out) {
  MG_SHARED(float, scratch, [kThreads / 32]);
  out[threadIdx.x] = mg::largest_of_block<kThreads>(in[threadIdx.x], scratch);
}

// The first largest of 64 columns, and its value.
__global__ void first_largest(const float* in, float* out) {
  MG_SHARED(mg::u64, scratch, [2]);
  const mg::u32 column = threadIdx.x;
  const mg::u64 key = mg::u64{mg::ordered(in[column])} << 32 | (~column);
  const mg::u64 best = mg::largest_of_block<64>(key, scratch);
  out[2 * column] = static_cast<float>(mg::column_of(best));
  out[2 * column + 1] = mg::value_of(best);
}
)";

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinite = std::numeric_limits<float>::infinity();

class MgLargest : public KernelTextTest<> {
 protected:
  static void SetUpTestSuite() {
    build_kernels(kLargestSource,
                  {"largest<32>", "largest<64>", "largest<256>", "largest<1024>", "first_largest"});
  }

  // {column, value} of the first largest value among 64, the first of which are given.
  static std::vector<float> first_largest(const std::vector<float>& first, float rest) {
    HostArray<float> in(kernels->device(), 64), out(kernels->device(), 128);
    for (std::size_t i = 0; i < 64; ++i) in[i] = i < first.size() ? first[i] : rest;
    const Status status =
        kernels->launch("first_largest", {{1, 1, 1}, {64, 1, 1}}, in.data(), out.data());
    EXPECT_TRUE(status.ok()) << status.message();
    for (std::size_t i = 2; i < 128; ++i) {
      const float expected = out[i % 2];
      EXPECT_TRUE(out[i] == expected || std::isnan(expected)) << "thread " << i / 2;
    }
    return {out[0], out[1]};
  }
};

TEST_F(MgLargest, IsFoundAtEveryPlaceInEveryOrder) {
  for (const int threads : {32, 64, 256, 1024}) {
    const auto count = static_cast<std::size_t>(threads);
    for (const std::size_t place : {std::size_t{0}, count / 2 - 1, count / 2, count - 1}) {
      for (const ThreadOrder order : thread_orders()) {
        ASSERT_TRUE(kernels->device().set_thread_order(order).ok());
        HostArray<float> in(kernels->device(), count), out(kernels->device(), count);
        for (std::size_t i = 0; i < count; ++i) in[i] = i % 3 == 0 ? kNan : -2.0f;
        in[place] = -1.0f;
        const Status status = kernels->launch(
            "largest<" + std::to_string(threads) + ">",
            {{1, 1, 1}, {static_cast<std::uint32_t>(threads), 1, 1}}, in.data(), out.data());
        ASSERT_TRUE(status.ok()) << status.message();
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(out[i], -1.0f) << threads << " " << i;
      }
    }
  }
}

TEST_F(MgLargest, ColumnKeysOrderAsFloatsDo) {
  using Found = std::vector<float>;
  EXPECT_EQ(first_largest({1.0f, 3.0f, 3.0f, 2.0f}, 0.0f), (Found{1, 3.0f}));
  EXPECT_EQ(first_largest({-5.0f, -4.0f}, -kInfinite), (Found{1, -4.0f}));
  EXPECT_EQ(first_largest({kNan, -1e-45f, -0.0f, 0.0f, 1e-45f}, -1.0f), (Found{4, 1e-45f}));
  EXPECT_EQ(first_largest({kNan, -1e-45f, -0.0f, 0.0f}, -1.0f), (Found{2, 0.0f}));
  EXPECT_EQ(first_largest({kNan, -kInfinite}, kNan), (Found{1, -kInfinite}));
  EXPECT_EQ(first_largest({1.0f, kInfinite}, kInfinite), (Found{1, kInfinite}));
  const Found none = first_largest({}, kNan);
  EXPECT_EQ(none[0], 0.0f);
  EXPECT_TRUE(std::isnan(none[1]));
}

}  // namespace
}  // namespace mgtune

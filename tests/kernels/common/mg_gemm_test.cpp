// <mg/quad_transpose.cuh>, <mg/octet_transpose.cuh>, <mg/store_row.cuh> and <mg/last_warp.cuh> on
// the cpu device. The main loops of <mg/gemm_*.cuh> are tested with the operators that use them
// (kernels/gemm, kernels/swiglu).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "tests/helpers/kernels/kernel_text.h"

namespace mgtune {
namespace {

constexpr char kGemmSource[] = R"(
#include <mg/last_warp.cuh>
#include <mg/octet_transpose.cuh>
#include <mg/quad_transpose.cuh>
#include <mg/store_row.cuh>
#include <mg/types.cuh>

// Lane q of a quad has the words 4 * i + q, and gets the words 4 * q + i.
__global__ void transposed(unsigned int* out) {  // [32][4]
  const unsigned int quad = threadIdx.x / 4u, lane = threadIdx.x % 4u;
  mg::u32 words[4];
  for (unsigned int i = 0; i < 4; ++i) words[i] = 100u * quad + 4u * i + lane;
  mg::transpose_in_quad(words);
  for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = words[i];
}

// Value i of lane l is 100 * l + i.
__global__ void octets(float* out) {  // [32][8]
  const int lane = static_cast<int>(threadIdx.x);
  float values[8];
  for (int i = 0; i < 8; ++i) values[i] = 100.0f * lane + i;
  mg::transpose_in_octet(values);
  for (int i = 0; i < 8; ++i) out[8 * lane + i] = values[i];
}

// The element of row i and column j is 64 * i + j; a warp has 16 rows, of which the last is not there.
__global__ void stored(unsigned short* y) {  // [16][72] of half
  const int lane = static_cast<int>(threadIdx.x);
  float d[32];
  for (int i = 0; i < 32; ++i) {
    const int row = lane / 4 + i % 4 / 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    d[i] = static_cast<float>(64 * row + column);
  }
  __half* const to = reinterpret_cast<__half*>(y);
  for (int r = 0; r < 2; ++r) {
    const int row = lane / 4 + 8 * r;
    mg::store_row<__half, 64>(d, r, 2.0f, to + 72 * row, row < 15);
  }
}

// Each of 6 warps in 2 blocks writes its number. The last one adds them up.
__global__ void last(unsigned int* counter, float* parts, float* out) {
  const int warp = static_cast<int>(blockIdx.x * 3 + threadIdx.x / 32), lane = threadIdx.x % 32;
  parts[warp * 32 + lane] = static_cast<float>(warp + lane);
  if (!mg::is_last_warp(counter, 6)) return;
  float sum = 0;
  for (int i = 0; i < 6; ++i) sum += __ldcg(parts + i * 32 + lane);
  out[lane] += sum;
}
)";

TEST(MgGemm, RowsOfAccumulatorsAreStored) {
  const auto kernels = KernelText::build(kGemmSource, {"stored"});
  ASSERT_TRUE(kernels.ok()) << kernels.status().message();
  const HostArray<unsigned short> y(kernels->device(), 16 * 72);
  for (std::size_t i = 0; i < 16 * 72; ++i) y[i] = 0;
  LaunchShape shape;
  shape.block = {32, 1, 1};
  const Status status = kernels->launch("stored", shape, y.data());
  ASSERT_TRUE(status.ok()) << status.message();
  for (std::size_t i = 0; i < 16 * 72; ++i) {
    const std::size_t row = i / 72, column = i % 72;
    const bool is_stored = row < 15 && column < 64;
    const double expected = is_stored ? static_cast<double>(2 * (64 * row + column)) : 0.0;
    EXPECT_EQ(element_as_double(reinterpret_cast<const unsigned char*>(y.data()),
                                static_cast<std::int64_t>(i), DType::f16),
              expected)
        << i;
  }
}

TEST(MgGemm, LanesExchangeValuesAndTheLastWarpSeesTheOthers) {
  const auto kernels = KernelText::build(kGemmSource, {"transposed", "octets", "last"});
  ASSERT_TRUE(kernels.ok()) << kernels.status().message();
  const HostArray<unsigned int> words(kernels->device(), 4 * 32);
  const HostArray<unsigned int> counter(kernels->device(), 1);
  const HostArray<float> parts(kernels->device(), 6 * 32), sums(kernels->device(), 32);
  const HostArray<float> gathered(kernels->device(), 32 * 8);
  std::vector<float> expected_sums;
  for (int lane = 0; lane < 32; ++lane) expected_sums.push_back(static_cast<float>(15 + 6 * lane));
  counter[0] = 0;
  for (const ThreadOrder order : thread_orders()) {
    for (std::size_t i = 0; i < 4 * 32; ++i) words[i] = 0;
    for (std::size_t i = 0; i < 32; ++i) sums[i] = 0;
    ASSERT_TRUE(kernels->device().set_thread_order(order).ok());
    LaunchShape shape;
    shape.block = {32, 1, 1};
    Status status = kernels->launch("transposed", shape, words.data());
    ASSERT_TRUE(status.ok()) << status.message();
    for (std::size_t i = 0; i < 4 * 32; ++i) EXPECT_EQ(words[i], i / 16 * 100 + i % 16) << i;
    status = kernels->launch("octets", shape, gathered.data());
    ASSERT_TRUE(status.ok()) << status.message();
    for (std::size_t i = 0; i < 32 * 8; ++i) {
      const std::size_t lane = i / 8, from = i % 8 * 4 + lane % 4;
      EXPECT_EQ(gathered[i], static_cast<float>(100 * from + lane / 4)) << i;
    }
    shape.grid = {2, 1, 1};
    shape.block = {96, 1, 1};
    status = kernels->launch("last", shape, counter.data(), parts.data(), sums.data());
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_THAT(sums.values(), testing::ElementsAreArray(expected_sums));
    EXPECT_EQ(counter[0], 0U);
  }
}

}  // namespace
}  // namespace mgtune

// <mg/mma.cuh> on the cpu device, against the product of whole matrices.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "tests/helpers/kernels/kernel_text.h"

namespace mgtune {
namespace {

// Two warps, each with its own matrices. a is row-major, b column-major, d row-major.
constexpr char kMmaSource[] = R"(
#include <mg/mma.cuh>
#include <mg/types.cuh>

template <class T, int K>
__global__ void product(const T* a, const T* b, float* d) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, quad = lane % 4;
  a += warp * 16 * K;
  b += warp * 8 * K;
  d += warp * 16 * 8;
  mg::u32 of_a[K / 4], of_b[K / 8];
  for (int half = 0; half < K / 8; ++half) {
    const int k = 8 * half + 2 * quad;
    memcpy(&of_a[2 * half], a + group * K + k, 4);
    memcpy(&of_a[2 * half + 1], a + (group + 8) * K + k, 4);
    memcpy(&of_b[half], b + group * K + k, 4);
  }
  float of_d[4];
  for (int i = 0; i < 4; ++i) of_d[i] = d[(group + i / 2 * 8) * 8 + 2 * quad + i % 2];
  mg::mma_m16n8<T, K>(of_d, of_a, of_b);
  for (int i = 0; i < 4; ++i) d[(group + i / 2 * 8) * 8 + 2 * quad + i % 2] = of_d[i];
}
)";

struct Product {
  DType dtype;
  std::size_t k;

  std::string kernel() const {
    return "product<" + std::string(cuda_name(dtype)) + ", " + std::to_string(k) + ">";
  }
};

const std::vector<Product> kProducts = {
    {DType::f16, 8}, {DType::f16, 16}, {DType::bf16, 8}, {DType::bf16, 16}};

// Whole numbers, so that every order of additions gives the same.
std::vector<float> whole_numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = static_cast<float>(static_cast<int>(random() % 17) - 8);
  return numbers;
}

TEST(MgMma, MultipliesMatricesInEveryThreadOrder) {
  std::vector<std::string> names;
  for (const Product& product : kProducts) names.push_back(product.kernel());
  const auto kernels = KernelText::build(kMmaSource, names);
  ASSERT_TRUE(kernels.ok()) << kernels.status().message();
  for (const Product& product : kProducts) {
    const std::size_t k = product.k;
    const std::vector<float> a = whole_numbers(2 * 16 * k, 1);
    const std::vector<float> b = whole_numbers(2 * 8 * k, 2);
    const std::vector<float> d = whole_numbers(2 * 16 * 8, 3);
    std::vector<float> expected = d;
    for (std::size_t warp = 0; warp < 2; ++warp) {
      for (std::size_t i = 0; i < 16 * 8 * k; ++i) {
        const std::size_t row = i / k / 8;
        const std::size_t column = i / k % 8;
        expected[warp * 128 + row * 8 + column] +=
            a[(warp * 16 + row) * k + i % k] * b[(warp * 8 + column) * k + i % k];
      }
    }
    const bool is_half = product.dtype == DType::f16;
    const auto bits = [&](float value) {
      return is_half ? f16_from_float(value) : bf16_from_float(value);
    };
    const HostArray<std::uint16_t> of_a(kernels->device(), a.size());
    const HostArray<std::uint16_t> of_b(kernels->device(), b.size());
    const HostArray<float> of_d(kernels->device(), d.size());
    for (std::size_t i = 0; i < a.size(); ++i) of_a[i] = bits(a[i]);
    for (std::size_t i = 0; i < b.size(); ++i) of_b[i] = bits(b[i]);
    for (const ThreadOrder order : thread_orders()) {
      for (std::size_t i = 0; i < d.size(); ++i) of_d[i] = d[i];
      ASSERT_TRUE(kernels->device().set_thread_order(order).ok());
      LaunchShape shape;
      shape.block = {64, 1, 1};
      const Status status =
          kernels->launch(product.kernel(), shape, of_a.data(), of_b.data(), of_d.data());
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_THAT(of_d.values(), testing::ElementsAreArray(expected)) << product.kernel();
    }
  }
}

}  // namespace
}  // namespace mgtune

// The copy kernel, on the cpu device: every byte arrives, from any geometry, and none beyond.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/helpers/kernels/cpu_module.h"

namespace mgtune {
namespace {

const std::vector<std::string> kKernels = {"copy<1, false>", "copy<4, true>", "copy<8, false>"};
constexpr std::size_t kVectors = 1000;
constexpr std::size_t kFloats = 4 * kVectors;

TEST(Copy, CopiesEveryVectorOnce) {
  const auto module = CpuModule::build("kernels/common", "copy.cu", kKernels);
  ASSERT_TRUE(module.ok()) << module.status().message();
  std::vector<double> values(kFloats);
  for (std::size_t i = 0; i < kFloats; ++i) values[i] = static_cast<double>(i);
  const auto from = DeviceTensor::upload(module->device(), DType::f32, values);
  ASSERT_TRUE(from.ok());
  for (const std::string& kernel : kKernels) {
    for (const std::uint32_t grid : {1U, 3U, 32U}) {
      SCOPED_TRACE(kernel + " grid " + std::to_string(grid));
      auto to = DeviceTensor::poisoned(module->device(), DType::f32, kFloats);
      ASSERT_TRUE(to.ok());
      // The last vector stays poisoned.
      const Status status = module->launch(kernel, grid, 64, to->data(), from->data(),
                                           static_cast<std::int64_t>(kVectors - 1));
      ASSERT_TRUE(status.ok()) << status.message();
      const std::vector<double> copied = to->download().value();
      const std::size_t end = kFloats - 4;
      EXPECT_EQ(std::vector(copied.begin(), copied.begin() + end),
                std::vector(values.begin(), values.begin() + end));
      for (std::size_t i = end; i < kFloats; ++i) EXPECT_NE(copied[i], copied[i]) << i;  // NaN
    }
  }
}

}  // namespace
}  // namespace mgtune

// KernelTextTest: a suite whose tests share the kernels of one source, built once. Header-only.

#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/helpers/kernels/kernel_text.h"

namespace mgtune {

// `Base` is testing::Test or a testing::TestWithParam.
template <typename Base = testing::Test>
class KernelTextTest : public Base {
 protected:
  // A suite calls this in its SetUpTestSuite().
  static void build_kernels(const std::string& source, const std::vector<std::string>& names,
                            const std::string& arch = "cpu") {
    Result<KernelText> built = KernelText::build(source, names, arch);
    ASSERT_TRUE(built.ok()) << built.status().message();
    kernels = new KernelText(std::move(built).value());
  }
  static void TearDownTestSuite() { delete std::exchange(kernels, nullptr); }

  // start, start + 1, ...
  static HostArray<float> numbers(std::size_t count, float start) {
    HostArray<float> array(kernels->device(), count);
    for (std::size_t i = 0; i < count; ++i) array[i] = start + static_cast<float>(i);
    return array;
  }

  static inline KernelText* kernels = nullptr;
};

}  // namespace mgtune

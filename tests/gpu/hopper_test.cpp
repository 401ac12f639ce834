// <mg/wgmma.cuh> and <mg/tensor_copy.cuh> on a real GPU of compute capability 9.0, on every shape
// that they offer. kernels/mg_wgmma_test runs the same kernels on the cpu device.

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/helpers/kernels/hopper_kernels.h"
#include "tests/helpers/kernels/kernel_text.h"
#include "tests/helpers/real_gpu.h"

namespace mgtune {
namespace {

class HopperOnGpu : public RealGpuTest {
 protected:
  void SetUp() override {
    RealGpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (device().info().limits.compute_capability != 90) {
      GTEST_SKIP() << device().info().name << " has no wgmma. SKIPPED, NOTHING WAS TESTED";
    }
  }

  template <class Case>
  std::unique_ptr<Module> load(const char* source, const std::vector<Case>& cases) {
    std::set<std::string> names;
    for (const Case& each : cases) names.insert(each.kernel());
    const Result<Build> build = build_kernel_text(source, {names.begin(), names.end()}, "sm_90a");
    EXPECT_TRUE(build.ok()) << build.status().message();
    if (!build.ok()) return nullptr;
    Result<std::unique_ptr<Module>> module = device().load(*build);
    EXPECT_TRUE(module.ok()) << module.status().message();
    return module.ok() ? *std::move(module) : nullptr;
  }
};

TEST_F(HopperOnGpu, WgmmaMultipliesEveryShape) {
  const std::vector<WgmmaProduct> products = wgmma_products();
  const std::unique_ptr<Module> module = load(kProductSource, products);
  ASSERT_NE(module, nullptr);
  for (const WgmmaProduct& product : products) expect_product_right(device(), *module, product);
}

class BoxOnGpu : public HopperOnGpu, public testing::WithParamInterface<BoxCopy> {};

// Each has a device of its own, because a copy that fails takes the device with it.
TEST_P(BoxOnGpu, IsLoadedAndStored) {
  const std::unique_ptr<Module> module = load(kBoxSource, std::vector<BoxCopy>{GetParam()});
  ASSERT_NE(module, nullptr);
  expect_box_copied(device(), *module, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Boxes, BoxOnGpu, testing::ValuesIn(box_copies()));

}  // namespace
}  // namespace mgtune

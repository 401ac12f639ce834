// <mg/wgmma.cuh>, <mg/panel_tile.cuh>, <mg/tensor_copy.cuh> and <mg/warpgroup.cuh> on the cpu
// device, against the arithmetic, and that NVRTC takes their PTX. gpu/hopper_test.cpp runs the same
// on a GPU.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/ptxas_report.h"
#include "tests/helpers/kernels/hopper_kernels.h"
#include "tests/helpers/kernels/kernel_text.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;

template <class Case>
std::vector<std::string> kernels_of(const std::vector<Case>& cases) {
  std::set<std::string> names;
  for (const Case& each : cases) names.insert(each.kernel());
  return {names.begin(), names.end()};
}

// All widths in one form, and all forms of two widths: every kernel takes a part of a second to
// compile. A GPU runs all of them.
std::vector<WgmmaProduct> chosen_products() {
  std::vector<WgmmaProduct> products;
  for (const WgmmaProduct& product : wgmma_products()) {
    const bool is_usual = product.a_in_registers && product.b_mn_major == (product.n % 32 == 0);
    if (is_usual || product.n == 64 || product.n == 96) products.push_back(product);
  }
  return products;
}

TEST(MgWgmma, MultipliesEveryShapeInEveryThreadOrder) {
  const std::vector<WgmmaProduct> products = chosen_products();
  const auto built = KernelText::build(kProductSource, kernels_of(products));
  ASSERT_TRUE(built.ok()) << built.status().message();
  for (const WgmmaProduct& product : products) {
    expect_product_right(built->device(), built->module(), product);
  }
  ASSERT_TRUE(built->device().set_thread_order({ThreadOrder::Kind::shuffled, 1}).ok());
  expect_product_right(built->device(), built->module(), products.front());
}

TEST(MgWgmma, IsTakenByNvrtcWithoutObjections) {
  const auto built = build_kernel_text(kProductSource, kernels_of(chosen_products()), "sm_90a");
  ASSERT_TRUE(built.ok()) << built.status().message();
  EXPECT_EQ(ptxas_objections(built->log), "");
}

TEST(MgTensorCopy, LoadsAndStoresBoxes) {
  const auto built = KernelText::build(kBoxSource, kernels_of(box_copies()));
  ASSERT_TRUE(built.ok()) << built.status().message();
  for (const BoxCopy& copy : box_copies()) {
    expect_box_copied(built->device(), built->module(), copy);
  }
}

TEST(MgTensorCopy, IsTakenByNvrtc) {
  const auto built = build_kernel_text(kBoxSource, kernels_of(box_copies()), "sm_90");
  EXPECT_TRUE(built.ok()) << built.status().message();
}

TEST(MgTensorCopy, TheCpuDeviceRefusesWhatACopyEngineCannotServe) {
  const auto device = open_device("cpu").value();
  const auto memory = DeviceTensor::poisoned(*device, DType::f16, 64 * 64).value();
  const auto refusal = [&](const auto& edit) {
    TensorMapRequest request{
        memory.data(),      DType::f16, 2, {64, 64}, {128}, {64, 16}, TensorMap::Swizzle::bytes_128,
        TensorMap::L2::none};
    edit(request);
    EncodedTensorMap map;
    return std::string(device->encode_tensor_map(request, map).message());
  };
  EXPECT_EQ(refusal([](TensorMapRequest&) {}), "");
  EXPECT_THAT(refusal([](TensorMapRequest& map) { map.stride_bytes[0] = 136; }),
              HasSubstr("the stride of dimension 1 is 136 bytes, not a multiple of 16"));
  EXPECT_THAT(refusal([](TensorMapRequest& map) { map.box[1] = 257; }),
              HasSubstr("the box has 257 elements in dimension 1; 1 to 256 are possible"));
  EXPECT_THAT(refusal([](TensorMapRequest& map) { map.box[0] = 128; }),
              HasSubstr("256 bytes, more than the swizzle of 128"));
  EXPECT_THAT(refusal([](TensorMapRequest& map) { map.box[0] = 4; }),
              HasSubstr("8 bytes, not a multiple of 16"));
  EXPECT_THAT(refusal([](TensorMapRequest& map) { map.extent[1] = 0; }),
              HasSubstr("dimension 1 has 0 elements"));
  EXPECT_THAT(refusal([](TensorMapRequest& map) {
                map.memory = static_cast<unsigned char*>(map.memory) + 2;
              }),
              HasSubstr("does not begin at a multiple of 16 bytes"));
}

}  // namespace
}  // namespace mgtune

// The kernel of rmsnorm.backward's design cluster, launched by hand in clusters of one block.

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/helpers/kernels/cpu_module.h"
#include "tests/helpers/kernels/rmsnorm_gradient.h"

namespace mgtune {
namespace {

// Two clusters of one block; the second launch adds up what they leave.
Result<Gradients> run_cluster(const CpuModule& module, std::span<const std::string> kernels,
                              const GradientInputs& in) {
  constexpr std::int32_t kBlocks = 2;
  Device& device = module.device();
  std::vector<DeviceTensor> tensors;
  for (const auto* values : {&in.dy, &in.x, &in.weight, &in.rstd}) {
    MGTUNE_ASSIGN(DeviceTensor tensor, DeviceTensor::upload(device, DType::f32, *values));
    tensors.push_back(std::move(tensor));
  }
  for (const std::size_t count : {in.x.size(), in.weight.size(), kBlocks * in.weight.size()}) {
    MGTUNE_ASSIGN(DeviceTensor tensor, DeviceTensor::poisoned(device, DType::f32, count));
    tensors.push_back(std::move(tensor));
  }
  std::vector<void*> pointers;
  for (const DeviceTensor& tensor : tensors) pointers.push_back(tensor.data());
  auto [dy, x, weight, rstd, dx, dw, partials] = std::tuple{
      pointers[0], pointers[1], pointers[2], pointers[3], pointers[4], pointers[5], pointers[6]};
  std::int64_t rows = in.rows, stride = in.hidden;
  float offset = kGradientOffset;
  std::int32_t parts = kBlocks;
  void* rows_args[] = {&dy, &x, &weight, &rstd, &dx, &partials, &rows, &stride, &offset};
  MGTUNE_TRY(
      module.launch_with(kernels[0], kBlocks, 32, 4 * 2 * 2 * 2 * 128 * sizeof(float), rows_args));
  void* dw_args[] = {&partials, &dw, &parts};
  MGTUNE_TRY(module.launch_with(kernels[1], 7, 256, 0, dw_args));
  Gradients outputs;
  MGTUNE_ASSIGN(outputs.dx, tensors[4].download());
  MGTUNE_ASSIGN(outputs.dw, tensors[5].download());
  return outputs;
}

// The cpu device has clusters of one block, so the operator's design, which asks for more, is not
// for it. The kernel is, and all but the travel between blocks is as in a larger one.
TEST(RmsnormBackwardCluster, OfOneBlockIsRight) {
  constexpr std::int64_t kRows = 9, kHidden = 200;
  const std::string kernels[] = {
      "rmsnorm_backward_cluster<float, float, 200, 32, 4, 2, 4, 1, 1, false, true>",
      "rmsnorm_backward_dw<float, 200, 256, false>"};
  const auto module = CpuModule::build("kernels/rmsnorm", "backward.cu", {kernels[0], kernels[1]});
  ASSERT_TRUE(module.ok()) << module.status().message();
  for (const std::int64_t rows : {kRows, std::int64_t{1}}) {
    const GradientInputs in = normal_inputs(rows, kHidden);
    for (const auto order :
         {ThreadOrder::Kind::forward, ThreadOrder::Kind::reversed, ThreadOrder::Kind::shuffled}) {
      ASSERT_TRUE(module->device().set_thread_order({order, 1}).ok());
      const auto outputs = run_cluster(*module, kernels, in);
      ASSERT_TRUE(outputs.ok()) << outputs.status().message();
      EXPECT_LE(relative_l2(outputs->dx, expected_gradients(in).dx), 1e-6);
      EXPECT_LE(relative_l2(outputs->dw, expected_gradients(in).dw), 1e-6);
    }
  }
}

}  // namespace
}  // namespace mgtune

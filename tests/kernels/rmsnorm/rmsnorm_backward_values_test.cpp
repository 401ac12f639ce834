// rmsnorm.backward of inputs by hand, one variant of each way to compute it on the cpu device:
// magnitudes, special values, pointers off their alignment and no rows give what the formula says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/registry.h"
#include "launch/loaded_variant.h"
#include "tests/helpers/kernels/cpu_module.h"
#include "tests/helpers/kernels/rmsnorm_backward.h"
#include "tests/helpers/kernels/rmsnorm_gradient.h"

namespace mgtune {
namespace {

// One variant of each way to compute rmsnorm.backward, in fp32.
class RmsnormBackwardValues : public testing::TestWithParam<const char*> {
 protected:
  static constexpr std::int64_t kRows = 6, kHidden = 40;

  void SetUp() override {
    const auto parsed = parse_variant(op_, GetParam());
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    const Problem problem = problem_of(op_, "rows=6,hidden=40,T=f32,dw=true");
    auto device = open_device("cpu");
    ASSERT_TRUE(device.ok()) << device.status().message();
    device_ = *std::move(device);
    CompiledVariants& compiled = compiled_[GetParam()];
    if (compiled.empty()) {
      compiled.add(problem, *parsed, *device_);
      const Status built = compiled.build(op_);
      ASSERT_TRUE(built.ok()) << built.message();
    }
    auto loaded = compiled.load(*device_, problem, *parsed);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    loaded_ = *std::move(loaded);
  }

  // `shift`: every tensor begins so many elements behind an aligned address.
  Result<Gradients> run(const GradientInputs& in, std::size_t shift = 0) const {
    std::vector<DeviceTensor> tensors;
    const auto shifted = [&](std::vector<double> values) {
      values.insert(values.begin(), shift, 0.0);
      return DeviceTensor::upload(*device_, DType::f32, values);
    };
    for (const auto* values : {&in.dy, &in.x, &in.weight, &in.rstd}) {
      MGTUNE_ASSIGN(DeviceTensor tensor, shifted(*values));
      tensors.push_back(std::move(tensor));
    }
    for (const auto* like : {&in.x, &in.weight}) {
      MGTUNE_ASSIGN(DeviceTensor tensor,
                    DeviceTensor::poisoned(*device_, DType::f32, like->size() + shift));
      tensors.push_back(std::move(tensor));
    }
    std::vector<void*> pointers;
    for (const DeviceTensor& tensor : tensors) {
      pointers.push_back(static_cast<float*>(tensor.data()) + shift);
    }
    const std::vector<std::int64_t> dims{in.rows, in.hidden};
    MGTUNE_ASSIGN(const auto size, loaded_->workspace_size(dims));
    MGTUNE_ASSIGN(const Buffer workspace,
                  Buffer::allocate(*device_, static_cast<std::size_t>(size.bytes)));
    MGTUNE_TRY(
        device_->fill_bytes(workspace.data(), 0, static_cast<std::size_t>(size.bytes), nullptr));
    ScalarValue offset;
    encode_scalar(kGradientOffset, DType::f32, offset);
    LaunchArguments arguments;
    arguments.dims = dims;
    arguments.tensors = pointers;
    arguments.scalars = {&offset, 1};
    arguments.workspace = workspace.data();
    MGTUNE_TRY(loaded_->launch(arguments));
    MGTUNE_TRY(device_->synchronize(nullptr));
    Gradients outputs;
    MGTUNE_ASSIGN(outputs.dx, tensors[4].download());
    MGTUNE_ASSIGN(outputs.dw, tensors[5].download());
    outputs.dx.erase(outputs.dx.begin(), outputs.dx.begin() + static_cast<std::ptrdiff_t>(shift));
    outputs.dw.erase(outputs.dw.begin(), outputs.dw.begin() + static_cast<std::ptrdiff_t>(shift));
    return outputs;
  }

  void expect_right(const GradientInputs& in, std::size_t shift = 0) const {
    const auto outputs = run(in, shift);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    EXPECT_LE(relative_l2(outputs->dx, expected_gradients(in).dx), 1e-6);
    EXPECT_LE(relative_l2(outputs->dw, expected_gradients(in).dw), 1e-6);
  }

  inline static std::map<std::string, CompiledVariants>
      compiled_;  // by the variant: each is built once
  const Operator& op_ = rmsnorm_backward_operator("rmsnorm.backward");
  std::unique_ptr<Device> device_;
  std::unique_ptr<LoadedVariant> loaded_;
};

// x times rstd is ordinary, x times x is not; nor is rstd times rstd.
TEST_P(RmsnormBackwardValues, OfLargeAndSmallMagnitudesAreRight) {
  for (const double scale : {1e30, 1e-30}) {
    GradientInputs in = normal_inputs(kRows, kHidden);
    for (double& x : in.x) x = static_cast<float>(x * scale);
    for (double& rstd : in.rstd) rstd = static_cast<float>(rstd / scale);
    expect_right(in);
  }
}

TEST_P(RmsnormBackwardValues, NaNSpoilsItsRowAndItsColumn) {
  GradientInputs in = normal_inputs(kRows, kHidden);
  in.x[2 * kHidden + 5] = std::numeric_limits<double>::quiet_NaN();
  in.dy[4 * kHidden + 7] = std::numeric_limits<double>::infinity();
  const auto outputs = run(in);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  for (std::int64_t i = 0; i < kRows * kHidden; ++i) {
    const bool is_ordinary = i / kHidden != 2 && i / kHidden != 4;
    EXPECT_EQ(std::isfinite(outputs->dx[static_cast<std::size_t>(i)]), is_ordinary) << i;
  }
  for (std::int64_t i = 0; i < kHidden; ++i) {
    EXPECT_EQ(std::isfinite(outputs->dw[static_cast<std::size_t>(i)]), i != 5 && i != 7) << i;
  }
}

TEST_P(RmsnormBackwardValues, TakesPointersOfItsAlignmentAlone) {
  const GradientInputs in = normal_inputs(kRows, kHidden);
  if (std::string(GetParam()).find("VEC=1") != std::string::npos) {
    expect_right(in, 1);
  } else {
    EXPECT_EQ(run(in, 1).status().code(), StatusCode::unsupported);
    expect_right(in, 4);
  }
}

TEST_P(RmsnormBackwardValues, OfNoRowsAreNoGradient) {
  GradientInputs in = normal_inputs(0, kHidden);
  const auto outputs = run(in);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_THAT(outputs->dw, testing::Each(0.0));
}

INSTANTIATE_TEST_SUITE_P(
    EachWay, RmsnormBackwardValues,
    testing::Values(
        "persistent THREADS_PER_ROW=8 ROWS_PER_BLOCK=4 VEC=4 ROWS_AT_ONCE=1 STAGES=2 LOAD=ldg "
        "BLOCKS_PER_SM=4 PDL=false DW_THREADS=256",
        "persistent THREADS_PER_ROW=32 ROWS_PER_BLOCK=1 VEC=4 ROWS_AT_ONCE=2 STAGES=3 "
        "LOAD=cp_async BLOCKS_PER_SM=4 PDL=false DW_THREADS=256",
        "persistent THREADS_PER_ROW=64 ROWS_PER_BLOCK=2 VEC=1 ROWS_AT_ONCE=1 STAGES=2 LOAD=ldg "
        "BLOCKS_PER_SM=1 PDL=false DW_THREADS=1024",
        "two_pass THREADS_PER_ROW=32 ROWS_PER_BLOCK=4 VEC=4 THREADS=64 ROWS_AT_ONCE=4 "
        "BLOCKS_PER_SM=2"));

}  // namespace
}  // namespace mgtune

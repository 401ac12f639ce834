// The references of rmsnorm.backward and rmsnorm.add_backward, run on the cpu device, are the
// derivative of the forward's formula.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/helpers/kernels/cpu_module.h"
#include "tests/helpers/kernels/reference_problems.h"
#include "tests/helpers/kernels/rmsnorm_gradient.h"

namespace mgtune {
namespace {

TEST(RmsnormBackwardReference, IsTheDerivativeOfTheForward) {
  constexpr double kEps = 0.125;
  GradientInputs in = normal_inputs(3, 5);
  const auto hidden = static_cast<std::size_t>(in.hidden);
  const auto rstd_of = [&](std::size_t row) {
    double squares = 0;
    for (std::size_t c = 0; c < hidden; ++c) {
      squares += in.x[row * hidden + c] * in.x[row * hidden + c];
    }
    return 1 / std::sqrt(squares / static_cast<double>(hidden) + kEps);
  };
  // What a loss that grows by dy for each y is, and how it changes with one number.
  const auto loss = [&] {
    double sum = 0;
    for (std::size_t i = 0; i < in.x.size(); ++i) {
      sum += in.dy[i] * in.x[i] * rstd_of(i / hidden) * (kGradientOffset + in.weight[i % hidden]);
    }
    return sum;
  };
  const auto slope = [&](double& of) {
    constexpr double kStep = 1e-5;
    const double at = of;
    of = at + kStep;
    const double above = loss();
    of = at - kStep;
    const double below = loss();
    of = at;
    return (above - below) / (2 * kStep);
  };
  Gradients slopes;
  for (double& x : in.x) slopes.dx.push_back(slope(x));
  for (double& weight : in.weight) slopes.dw.push_back(slope(weight));
  for (std::size_t row = 0; row < in.rstd.size(); ++row) in.rstd[row] = rstd_of(row);

  const std::string backward = "rmsnorm_backward_reference<float, float, Problem>";
  const std::string add_backward = "rmsnorm_add_backward_reference<float, float, Problem>";
  const auto module = CpuModule::build_reference("kernels/rmsnorm", kRmsnormReferenceProblemText,
                                                 {backward, add_backward});
  ASSERT_TRUE(module.ok()) << module.status().message();
  Device& device = module->device();
  const auto upload = [&](const std::vector<double>& values) {
    return DeviceTensor::upload(device, DType::f32, values).value();
  };
  const DeviceTensor dy = upload(in.dy), x = upload(in.x), weight = upload(in.weight);
  const DeviceTensor rstd = upload(in.rstd);
  const auto dx = DeviceTensor::poisoned(device, DType::f64, in.x.size()).value();
  const auto dw = DeviceTensor::poisoned(device, DType::f64, hidden).value();
  const RmsnormReferenceProblem problem{.rows = in.rows,
                                        .hidden = in.hidden,
                                        .x_stride = in.hidden,
                                        .s_stride = in.hidden,
                                        .weight_offset = kGradientOffset};
  const Status ran = module->launch(backward, 64, 128, dy.data(), x.data(), weight.data(),
                                    rstd.data(), dx.data(), dw.data(), problem);
  ASSERT_TRUE(ran.ok()) << ran.message();
  EXPECT_LE(relative_l2(dx.download().value(), slopes.dx), 1e-6);
  EXPECT_LE(relative_l2(dw.download().value(), slopes.dw), 1e-6);

  // The sum's other branch: its gradient is added, dw stays. dw may be absent.
  const Status added =
      module->launch(add_backward, 64, 128, dy.data(), x.data(), weight.data(), rstd.data(),
                     dy.data(), dx.data(), static_cast<void*>(nullptr), problem);
  ASSERT_TRUE(added.ok()) << added.message();
  for (std::size_t i = 0; i < in.x.size(); ++i) slopes.dx[i] += in.dy[i];
  EXPECT_LE(relative_l2(dx.download().value(), slopes.dx), 1e-6);
}

}  // namespace
}  // namespace mgtune

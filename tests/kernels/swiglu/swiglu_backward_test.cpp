// swiglu.backward and swiglu.packed_backward on the cpu device: ladder variants and a seeded sample
// of the space over edge shapes equal the fp64 reference; gates at which a sigmoid may go wrong; in
// place; and the ladders serve every size, dtype, stride and alignment.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/helpers/kernels/cpu_module.h"
#include "tests/helpers/kernels/special_gates.h"
#include "tests/helpers/kernels/swiglu_checks.h"

namespace mgtune {
namespace {

class SwigluBackward : public SwigluTest {};

TEST_P(SwigluBackward, EqualsTheReference) {
  expect_right("swiglu.backward",
               {"rows=1,hidden=1", "rows=1,hidden=7", "rows=9,hidden=1", "rows=5,hidden=13",
                "rows=3,hidden=256", "rows=37,hidden=1009", "rows=67,hidden=1000",
                "rows=1,hidden=65537", "rows=1,hidden=5,gate_stride=2,up_stride=9",
                "rows=5,hidden=13,gate_stride=17", "rows=7,hidden=24,dy_stride=32",
                "rows=33,hidden=1000,dy_stride=1002,gate_stride=1008,up_stride=2000",
                "rows=129,hidden=64,gate_stride=128,up_stride=128", "rows=0,hidden=8"});
}

TEST_P(SwigluBackward, PackedEqualsTheReference) {
  expect_right("swiglu.packed_backward",
               {"rows=1,hidden=1", "rows=1,hidden=7", "rows=9,hidden=1", "rows=5,hidden=13",
                "rows=3,hidden=256", "rows=37,hidden=333", "rows=67,hidden=1000",
                "rows=1,hidden=65537", "rows=5,hidden=13,dy_stride=14,gate_up_stride=29",
                "rows=129,hidden=64,gate_up_stride=136", "rows=0,hidden=8"});
}

INSTANTIATE_TEST_SUITE_P(EachDType, SwigluBackward, testing::ValuesIn(kSwigluDTypes),
                         [](const auto& each) { return std::string(to_string(each.param)); });

struct Exact {
  double dgate, dup;
};

Exact exact(double dy, double gate, double up) {
  const double s = 1.0 / (1.0 + std::exp(-gate));
  return {dy * up * s * (1.0 + gate * (1.0 - s)), dy * gate * s};
}

// For dgate comes on top what is left where its slope crosses 0.
bool is_close_gradient(double actual, double expected, double scale, double gate, DType dtype) {
  const double cancelled = std::abs(gate) < 3 ? std::abs(scale) * 0x1p-21 : 0;
  return mgtune::is_close(actual, expected, gate, scale, dtype, 1e-6, cancelled);
}
TEST_P(SwigluBackward, HoldsForEveryGate) {
  const DType dtype = GetParam();
  const std::string kernel = swiglu_kernel("swiglu_backward", dtype, "1, 1");
  const auto module = CpuModule::build("kernels/swiglu", "backward.cu", {kernel});
  ASSERT_TRUE(module.ok()) << module.status().message();
  std::vector<double> dys, gates, ups;
  for (const double gate : special_gates()) {
    for (const double up : {1.0, -0.75, 300.0, 0.0, double(INFINITY), double(NAN)}) {
      for (const double dy : {1.0, -0.125, 0.0, double(INFINITY), double(NAN)}) {
        dys.push_back(dy);
        gates.push_back(gate);
        ups.push_back(up);
      }
    }
  }
  const auto count = static_cast<std::int64_t>(gates.size());
  Device& device = module->device();
  const auto dy = DeviceTensor::upload(device, dtype, dys);
  const auto gate = DeviceTensor::upload(device, dtype, gates);
  const auto up = DeviceTensor::upload(device, dtype, ups);
  const auto dgate = DeviceTensor::poisoned(device, dtype, gates.size());
  const auto dup = DeviceTensor::poisoned(device, dtype, gates.size());
  const auto blocks = static_cast<std::uint32_t>((count + 127) / 128);
  const Status ran = module->launch(kernel, blocks, 128, dy->data(), gate->data(), up->data(),
                                    dgate->data(), dup->data(), count);
  ASSERT_TRUE(ran.ok()) << ran.message();
  const auto d = dy->download(), g = gate->download(), u = up->download();
  const auto to_gate = dgate->download(), to_up = dup->download();
  for (std::size_t i = 0; i < gates.size(); ++i) {
    const Exact expected = exact((*d)[i], (*g)[i], (*u)[i]);
    EXPECT_TRUE(is_close_gradient((*to_gate)[i], expected.dgate, (*d)[i] * (*u)[i], (*g)[i], dtype))
        << "dy " << (*d)[i] << ", gate " << (*g)[i] << ", up " << (*u)[i] << ": dgate "
        << (*to_gate)[i] << ", not " << expected.dgate;
    EXPECT_TRUE(is_close_gradient((*to_up)[i], expected.dup, (*d)[i], (*g)[i], dtype))
        << "dy " << (*d)[i] << ", gate " << (*g)[i] << ": dup " << (*to_up)[i] << ", not "
        << expected.dup;
  }
}

TEST_P(SwigluBackward, MayWriteOverItsInputs) {
  const DType dtype = GetParam();
  const std::string kernel = swiglu_kernel("swiglu_backward", dtype, "4, 2");
  const auto module = CpuModule::build("kernels/swiglu", "backward.cu", {kernel});
  ASSERT_TRUE(module.ok()) << module.status().message();
  std::vector<double> values(5003);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(double(i));
  Device& device = module->device();
  const auto dy = DeviceTensor::upload(device, dtype, values);
  const auto gate = DeviceTensor::upload(device, dtype, values);
  const auto up = DeviceTensor::upload(device, dtype, values);
  const auto dgate = DeviceTensor::poisoned(device, dtype, values.size());
  const auto dup = DeviceTensor::poisoned(device, dtype, values.size());
  const std::int64_t count = 5003;
  ASSERT_TRUE(module
                  ->launch(kernel, 5, 128, dy->data(), gate->data(), up->data(), dgate->data(),
                           dup->data(), count)
                  .ok());
  ASSERT_TRUE(module
                  ->launch(kernel, 5, 128, dy->data(), gate->data(), up->data(), gate->data(),
                           up->data(), count)
                  .ok());
  EXPECT_EQ(*gate->download_bytes(), *dgate->download_bytes());
  EXPECT_EQ(*up->download_bytes(), *dup->download_bytes());
}

TEST(SwigluBackwardLadder, ServesEverySizeDTypeStrideAndAlignment) {
  expect_ladder_serves("swiglu.backward", "gate_stride");
  expect_ladder_serves("swiglu.packed_backward", "gate_up_stride");
}

TEST(SwigluBackwardLadder, PrefersWideAccessesAndOneRun) {
  expect_wide_accesses_and_one_run("swiglu.backward", "normal");
}

TEST(SwigluBackwardSpace, StaysSmall) { expect_small_space("swiglu.backward"); }

}  // namespace
}  // namespace mgtune

// swiglu.forward and swiglu.packed_forward on the cpu device: ladder variants and a seeded sample
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

class SwigluForward : public SwigluTest {};

TEST_P(SwigluForward, EqualsTheReference) {
  expect_right(
      "swiglu.forward",
      {"rows=1,hidden=1", "rows=1,hidden=7", "rows=9,hidden=1", "rows=5,hidden=13",
       "rows=3,hidden=256", "rows=37,hidden=1009", "rows=67,hidden=1000", "rows=1,hidden=65537",
       "rows=1,hidden=5,gate_stride=2,up_stride=9", "rows=5,hidden=13,gate_stride=17",
       "rows=7,hidden=24,up_stride=32", "rows=33,hidden=1000,gate_stride=1008,up_stride=2000",
       "rows=129,hidden=64,gate_stride=128,up_stride=128", "rows=0,hidden=8"});
}

TEST_P(SwigluForward, PackedEqualsTheReference) {
  expect_right("swiglu.packed_forward",
               {"rows=1,hidden=1", "rows=1,hidden=7", "rows=9,hidden=1", "rows=5,hidden=13",
                "rows=3,hidden=256", "rows=37,hidden=333", "rows=67,hidden=1000",
                "rows=1,hidden=65537", "rows=5,hidden=13,gate_up_stride=29",
                "rows=129,hidden=64,gate_up_stride=136", "rows=0,hidden=8"});
}

INSTANTIATE_TEST_SUITE_P(EachDType, SwigluForward, testing::ValuesIn(kSwigluDTypes),
                         [](const auto& each) { return std::string(to_string(each.param)); });

TEST_P(SwigluForward, HoldsForEveryGate) {
  const DType dtype = GetParam();
  const std::string kernel = swiglu_kernel("swiglu_forward", dtype, "1, 1");
  const auto module = CpuModule::build("kernels/swiglu", "forward.cu", {kernel});
  ASSERT_TRUE(module.ok()) << module.status().message();
  std::vector<double> gates, ups;
  for (const double gate : special_gates()) {
    for (const double up : {1.0, -0.75, 300.0, 0.0, double(INFINITY), double(NAN)}) {
      gates.push_back(gate);
      ups.push_back(up);
    }
  }
  const auto count = static_cast<std::int64_t>(gates.size());
  const auto gate = DeviceTensor::upload(module->device(), dtype, gates);
  const auto up = DeviceTensor::upload(module->device(), dtype, ups);
  const auto y = DeviceTensor::poisoned(module->device(), dtype, gates.size());
  ASSERT_TRUE(gate.ok() && up.ok() && y.ok());
  const auto blocks = static_cast<std::uint32_t>((count + 127) / 128);
  const Status ran =
      module->launch(kernel, blocks, 128, gate->data(), up->data(), y->data(), count);
  ASSERT_TRUE(ran.ok()) << ran.message();
  const auto rounded_gates = gate->download(), rounded_ups = up->download(), out = y->download();
  for (std::size_t i = 0; i < gates.size(); ++i) {
    const double g = (*rounded_gates)[i], u = (*rounded_ups)[i];
    const double expected = g * (1.0 / (1.0 + std::exp(-g))) * u;
    EXPECT_TRUE(is_close((*out)[i], expected, g, u, dtype, 4e-7))
        << "gate " << g << ", up " << u << ": " << (*out)[i] << ", not " << expected;
  }
}

TEST_P(SwigluForward, MayWriteOverAnInput) {
  const DType dtype = GetParam();
  const std::string kernel = swiglu_kernel("swiglu_forward", dtype, "4, 2");
  const auto module = CpuModule::build("kernels/swiglu", "forward.cu", {kernel});
  ASSERT_TRUE(module.ok()) << module.status().message();
  std::vector<double> values(5003);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(double(i));
  const auto gate = DeviceTensor::upload(module->device(), dtype, values);
  const auto up = DeviceTensor::upload(module->device(), dtype, values);
  const auto y = DeviceTensor::poisoned(module->device(), dtype, values.size());
  const std::int64_t count = 5003;
  ASSERT_TRUE(module->launch(kernel, 5, 128, gate->data(), up->data(), y->data(), count).ok());
  ASSERT_TRUE(module->launch(kernel, 5, 128, gate->data(), up->data(), gate->data(), count).ok());
  EXPECT_EQ(*gate->download_bytes(), *y->download_bytes());
}

TEST(SwigluForwardLadder, ServesEverySizeDTypeStrideAndAlignment) {
  expect_ladder_serves("swiglu.forward", "gate_stride");
  expect_ladder_serves("swiglu.packed_forward", "gate_up_stride");
}

TEST(SwigluForwardLadder, PrefersWideAccessesAndOneRun) {
  expect_wide_accesses_and_one_run("swiglu.forward", "streaming");
}

TEST(SwigluForwardSpace, StaysSmall) { expect_small_space("swiglu.forward"); }

}  // namespace
}  // namespace mgtune

// swiglu.forward and swiglu.packed_forward on the cpu device: ladder variants and a seeded sample
// of the space over edge shapes equal the fp64 reference; gates at which a sigmoid may go wrong; in
// place; and the ladders serve every size, dtype, stride and alignment.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/helpers/kernels/cpu_module.h"
#include "tests/helpers/kernels/operator_check.h"
#include "tests/helpers/kernels/special_gates.h"
#include "tests/helpers/long_lane.h"

namespace mgtune {
namespace {

constexpr DType kDTypes[] = {DType::f32, DType::f16, DType::bf16};
constexpr DeviceLimits kOldestGpu{75, 40, 65536, 4 << 20};
constexpr DeviceLimits kH200{90, 132, 232448, 60 << 20};

std::string with_dtype(const std::string& problem, DType dtype) {
  return problem + ",T=" + std::string(to_string(dtype));
}

class SwigluForward : public testing::TestWithParam<DType> {
 protected:
  // One element, a row, a column, primes, whole vectors, a last vector in part, tiles in number
  // (the cpu device counts as 8 SMs: 16 tiles allow UNROLL, 16 and more persistent blocks).
  static void expect_right(const std::string& op, std::vector<std::string> problems) {
    for (std::string& problem : problems) problem = with_dtype(problem, GetParam());
    OperatorCheck(op).expect_right(problems, in_long_lane<std::size_t>(20, 5));
  }
};

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

INSTANTIATE_TEST_SUITE_P(EachDType, SwigluForward, testing::ValuesIn(kDTypes),
                         [](const auto& each) { return std::string(to_string(each.param)); });

// Rounding to the dtype and the sigmoid's own error; what the 16-bit sigmoid flushes to 0 and half
// of the dtype's smallest number come on top.
bool close(double actual, double expected, double gate, double up, DType dtype) {
  if (std::isnan(expected)) return std::isnan(actual);
  // Where the sigmoid is 0 in fp32 and not in fp64: 0 * Inf.
  if (std::isinf(up) && gate < -87 && std::isnan(actual)) return true;
  const double rounding = dtype == DType::f32 ? 4e-7 : dtype == DType::bf16 ? 0x1p-8 : 0x1p-11;
  const double largest = dtype == DType::f16 ? 65504 : 3.4e38;
  if (std::abs(expected) > largest) {
    return std::abs(actual) > 0.99 * largest && std::signbit(actual) == std::signbit(expected);
  }
  const double flushed = std::abs(gate * up) * 0x1p-125;
  const double smallest = dtype == DType::f16    ? 0x1p-24
                          : dtype == DType::bf16 ? 0x1p-133
                                                 : 0x1p-149;
  return std::abs(actual - expected) <= rounding * std::abs(expected) + flushed + smallest;
}

TEST_P(SwigluForward, HoldsForEveryGate) {
  const DType dtype = GetParam();
  const std::string kernel = "swiglu_forward<" + std::string(cuda_name(dtype)) +
                             ", 128, 1, 1, mg::Cache::normal, mg::Cache::streaming, false>";
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
    EXPECT_TRUE(close((*out)[i], expected, g, u, dtype))
        << "gate " << g << ", up " << u << ": " << (*out)[i] << ", not " << expected;
  }
}

TEST_P(SwigluForward, MayWriteOverAnInput) {
  const DType dtype = GetParam();
  const std::string kernel = "swiglu_forward<" + std::string(cuda_name(dtype)) +
                             ", 128, 4, 2, mg::Cache::normal, mg::Cache::streaming, false>";
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

void expect_ladder_serves(const std::string& op, const std::string& stride) {
  const OperatorCheck check(op);
  const auto takes_any_pointer = [&](const Variant& variant) {
    return check.value(variant, "VEC") == 1;
  };
  for (const DType dtype : kDTypes) {
    for (const std::int64_t hidden : {1, 2, 7, 8, 333, 4096, 11008, 50001, 262143, 262144}) {
      for (const char* rows : {"0", "1", "16", "8192", "1000000000"}) {
        for (const std::int64_t gap : {0, 1, 8}) {
          std::string words = "rows=" + std::string(rows) + ",hidden=" + std::to_string(hidden);
          const std::int64_t width = stride == "gate_up_stride" ? 2 * hidden : hidden;
          if (gap > 0) words += "," + stride + "=" + std::to_string(width + gap);
          words = with_dtype(words, dtype);
          for (const DeviceLimits& device : {kOldestGpu, kH200}) {
            EXPECT_NE(check.first_of_ladder(words, device, takes_any_pointer), "none") << words;
          }
        }
      }
    }
  }
}

TEST(SwigluForwardLadder, ServesEverySizeDTypeStrideAndAlignment) {
  expect_ladder_serves("swiglu.forward", "gate_stride");
  expect_ladder_serves("swiglu.packed_forward", "gate_up_stride");
}

TEST(SwigluForwardLadder, PrefersWideAccessesAndOneRun) {
  const OperatorCheck check("swiglu.forward");
  const auto first = [&](const std::string& words) { return check.first_of_ladder(words, kH200); };
  EXPECT_EQ(first("rows=8192,hidden=11008,T=bf16"),
            "flat THREADS=256 VEC=8 UNROLL=1 LOAD=normal STORE=streaming PDL=true");
  EXPECT_EQ(first("rows=4096,hidden=11007,T=f32"),
            "flat THREADS=256 VEC=4 UNROLL=1 LOAD=normal STORE=streaming PDL=true");
  EXPECT_EQ(first("rows=16,hidden=14336,T=bf16"),
            "flat THREADS=512 VEC=1 UNROLL=1 LOAD=streaming STORE=normal PDL=true");
  EXPECT_EQ(check.first_of_ladder("rows=16,hidden=14336,T=bf16", kOldestGpu),
            "flat THREADS=256 VEC=8 UNROLL=1 LOAD=normal STORE=streaming PDL=false");
  EXPECT_EQ(first("rows=8192,hidden=11008,gate_stride=22016,T=bf16"),
            "rows THREADS=256 VEC=8 UNROLL=1 ROWS=wide LOAD=normal STORE=streaming PDL=true");
  EXPECT_EQ(first("rows=8192,hidden=11006,gate_stride=11008,T=bf16"),
            "rows THREADS=128 VEC=2 UNROLL=4 ROWS=wide LOAD=normal STORE=normal PDL=false");
  EXPECT_EQ(first("rows=80192,hidden=128,gate_stride=256,T=bf16"),
            "rows THREADS=256 VEC=8 UNROLL=1 ROWS=narrow LOAD=normal STORE=streaming PDL=true");
}

TEST(SwigluForwardSpace, StaysSmall) {
  const OperatorCheck check("swiglu.forward");
  EXPECT_LE(check.count("rows=8192,hidden=11008,T=bf16", kH200), 400u);
  EXPECT_GE(check.count("rows=8192,hidden=11008,T=bf16", kH200), 100u);
  EXPECT_LE(check.count("rows=16,hidden=14336,T=bf16", kH200), 400u);
}

}  // namespace
}  // namespace mgtune

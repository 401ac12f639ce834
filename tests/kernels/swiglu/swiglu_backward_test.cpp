// swiglu.backward and swiglu.packed_backward on the cpu device: ladder variants and a seeded sample
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

class SwigluBackward : public testing::TestWithParam<DType> {
 protected:
  // One element, a row, a column, primes, whole vectors, a last vector in part, tiles in number
  // (the cpu device counts as 8 SMs: 16 tiles allow UNROLL, 16 and more persistent blocks).
  static void expect_right(const std::string& op, std::vector<std::string> problems) {
    for (std::string& problem : problems) problem = with_dtype(problem, GetParam());
    OperatorCheck(op).expect_right(problems, in_long_lane<std::size_t>(20, 5));
  }
};

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

INSTANTIATE_TEST_SUITE_P(EachDType, SwigluBackward, testing::ValuesIn(kDTypes),
                         [](const auto& each) { return std::string(to_string(each.param)); });

struct Exact {
  double dgate, dup;
};

Exact exact(double dy, double gate, double up) {
  const double s = 1.0 / (1.0 + std::exp(-gate));
  return {dy * up * s * (1.0 + gate * (1.0 - s)), dy * gate * s};
}

// Rounding to the dtype, the sigmoid's own error, and for dgate what is left where its slope
// crosses 0; what the 16-bit sigmoid flushes to 0 and the dtype's smallest number come on top.
bool close(double actual, double expected, double scale, double gate, DType dtype) {
  if (std::isnan(expected)) return std::isnan(actual);
  // Where the sigmoid is 0 in fp32 and not in fp64: 0 * Inf.
  if (std::isinf(scale) && gate < -87 && std::isnan(actual)) return true;
  const double rounding = dtype == DType::f32 ? 1e-6 : dtype == DType::bf16 ? 0x1p-8 : 0x1p-11;
  const double largest = dtype == DType::f16 ? 65504 : 3.4e38;
  if (std::abs(expected) > largest) {
    return std::abs(actual) > 0.99 * largest && std::signbit(actual) == std::signbit(expected);
  }
  const double flushed = std::abs(gate * scale) * 0x1p-125;
  const double cancelled = std::abs(gate) < 3 ? std::abs(scale) * 0x1p-21 : 0;
  const double smallest = dtype == DType::f16    ? 0x1p-24
                          : dtype == DType::bf16 ? 0x1p-133
                                                 : 0x1p-149;
  return std::abs(actual - expected) <=
         rounding * std::abs(expected) + flushed + cancelled + smallest;
}

TEST_P(SwigluBackward, HoldsForEveryGate) {
  const DType dtype = GetParam();
  const std::string kernel = "swiglu_backward<" + std::string(cuda_name(dtype)) +
                             ", 128, 1, 1, mg::Cache::normal, mg::Cache::streaming, false>";
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
    EXPECT_TRUE(close((*to_gate)[i], expected.dgate, (*d)[i] * (*u)[i], (*g)[i], dtype))
        << "dy " << (*d)[i] << ", gate " << (*g)[i] << ", up " << (*u)[i] << ": dgate "
        << (*to_gate)[i] << ", not " << expected.dgate;
    EXPECT_TRUE(close((*to_up)[i], expected.dup, (*d)[i], (*g)[i], dtype))
        << "dy " << (*d)[i] << ", gate " << (*g)[i] << ": dup " << (*to_up)[i] << ", not "
        << expected.dup;
  }
}

TEST_P(SwigluBackward, MayWriteOverItsInputs) {
  const DType dtype = GetParam();
  const std::string kernel = "swiglu_backward<" + std::string(cuda_name(dtype)) +
                             ", 128, 4, 2, mg::Cache::normal, mg::Cache::streaming, false>";
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

TEST(SwigluBackwardLadder, ServesEverySizeDTypeStrideAndAlignment) {
  expect_ladder_serves("swiglu.backward", "gate_stride");
  expect_ladder_serves("swiglu.packed_backward", "gate_up_stride");
}

TEST(SwigluBackwardLadder, PrefersWideAccessesAndOneRun) {
  const OperatorCheck check("swiglu.backward");
  const auto first = [&](const std::string& words) { return check.first_of_ladder(words, kH200); };
  EXPECT_EQ(first("rows=8192,hidden=11008,T=bf16"),
            "flat THREADS=256 VEC=8 UNROLL=1 LOAD=normal STORE=normal PDL=true");
  EXPECT_EQ(first("rows=4096,hidden=11007,T=f32"),
            "flat THREADS=256 VEC=4 UNROLL=1 LOAD=normal STORE=normal PDL=true");
  EXPECT_EQ(first("rows=16,hidden=14336,T=bf16"),
            "flat THREADS=512 VEC=1 UNROLL=1 LOAD=streaming STORE=normal PDL=true");
  EXPECT_EQ(check.first_of_ladder("rows=16,hidden=14336,T=bf16", kOldestGpu),
            "flat THREADS=256 VEC=8 UNROLL=1 LOAD=normal STORE=normal PDL=false");
  EXPECT_EQ(first("rows=8192,hidden=11008,gate_stride=22016,T=bf16"),
            "rows THREADS=256 VEC=8 UNROLL=1 ROWS=wide LOAD=normal STORE=normal PDL=true");
  EXPECT_EQ(first("rows=8192,hidden=11006,gate_stride=11008,T=bf16"),
            "rows THREADS=128 VEC=2 UNROLL=4 ROWS=wide LOAD=normal STORE=normal PDL=false");
  EXPECT_EQ(first("rows=80192,hidden=128,gate_stride=256,T=bf16"),
            "rows THREADS=256 VEC=8 UNROLL=1 ROWS=narrow LOAD=normal STORE=normal PDL=true");
}

TEST(SwigluBackwardSpace, StaysSmall) {
  const OperatorCheck check("swiglu.backward");
  EXPECT_LE(check.count("rows=8192,hidden=11008,T=bf16", kH200), 400u);
  EXPECT_GE(check.count("rows=8192,hidden=11008,T=bf16", kH200), 100u);
  EXPECT_LE(check.count("rows=16,hidden=14336,T=bf16", kH200), 400u);
}

}  // namespace
}  // namespace mgtune

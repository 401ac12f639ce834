// What the tests of swiglu's forward and backward operators share: problems of every dtype, the
// nearness of a result to the exact one, and what their ladders must do. Header-only.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/kernels/cpu_module.h"
#include "tests/helpers/kernels/operator_check.h"
#include "tests/helpers/long_lane.h"

namespace mgtune {

inline constexpr DType kSwigluDTypes[] = {DType::f32, DType::f16, DType::bf16};

inline std::string with_dtype(const std::string& problem, DType dtype) {
  return problem + ",T=" + std::string(to_string(dtype));
}

// "swiglu_forward<__half, 128, 1, 1, ...>": `parameters` are VEC and UNROLL.
inline std::string swiglu_kernel(const std::string& name, DType dtype,
                                 const std::string& parameters) {
  return name + "<" + std::string(cuda_name(dtype)) + ", 128, " + parameters +
         ", mg::Cache::normal, mg::Cache::streaming, false>";
}

class SwigluTest : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (kUnderSanitizer && GetParam() == DType::f16) GTEST_SKIP() << kAsBf16;
  }

  // One element, a row, a column, primes, whole vectors, a last vector in part, tiles in number
  // (the cpu device counts as 8 SMs: 16 tiles allow UNROLL, 16 and more persistent blocks).
  static void expect_right(const std::string& op, std::vector<std::string> problems) {
    for (std::string& problem : problems) problem = with_dtype(problem, GetParam());
    OperatorCheck(op).expect_right(problems, in_long_lane<std::size_t>(20, 5, 2));
  }
};

// Whether `actual` differs from `expected` by no more than rounding to the dtype, the sigmoid's own
// error (`f32_rounding` in f32), what the 16-bit sigmoid flushes to 0, half of the dtype's smallest
// number, and `more`. The sigmoid of `gate` is multiplied by `factor`.
inline bool is_close(double actual, double expected, double gate, double factor, DType dtype,
                     double f32_rounding, double more = 0) {
  if (std::isnan(expected)) return std::isnan(actual);
  // Where the sigmoid is 0 in fp32 and not in fp64: 0 * Inf.
  if (std::isinf(factor) && gate < -87 && std::isnan(actual)) return true;
  const double rounding = dtype == DType::f32    ? f32_rounding
                          : dtype == DType::bf16 ? 0x1p-8
                                                 : 0x1p-11;
  const double largest = dtype == DType::f16 ? 65504 : 3.4e38;
  if (std::abs(expected) > largest) {
    return std::abs(actual) > 0.99 * largest && std::signbit(actual) == std::signbit(expected);
  }
  const double flushed = std::abs(gate * factor) * 0x1p-125;
  const double smallest = dtype == DType::f16    ? 0x1p-24
                          : dtype == DType::bf16 ? 0x1p-133
                                                 : 0x1p-149;
  return std::abs(actual - expected) <= rounding * std::abs(expected) + flushed + more + smallest;
}

// The ladder of the operator has a variant for every size, dtype, stride and alignment.
inline void expect_ladder_serves(const std::string& op, const std::string& stride) {
  const OperatorCheck check(op);
  const auto takes_any_pointer = [&](const Variant& variant) {
    return check.value(variant, "VEC") == 1;
  };
  for (const DType dtype : kSwigluDTypes) {
    for (const std::int64_t hidden : {1, 2, 7, 8, 333, 4096, 11008, 50001, 262143, 262144}) {
      for (const char* rows : {"0", "1", "16", "8192", "1000000000"}) {
        for (const std::int64_t gap : {0, 1, 8}) {
          std::string words = "rows=" + std::string(rows) + ",hidden=" + std::to_string(hidden);
          const std::int64_t width = stride == "gate_up_stride" ? 2 * hidden : hidden;
          if (gap > 0) words += "," + stride + "=" + std::to_string(width + gap);
          words = with_dtype(words, dtype);
          for (const DeviceLimits& device : {kT4, kH200}) {
            EXPECT_NE(check.first_of_ladder(words, device, takes_any_pointer), "none") << words;
          }
        }
      }
    }
  }
}

// The ladder has accesses of 16 bytes where they are aligned, and one run over all rows where there
// are no gaps between them. A small problem has one 4-byte access a thread or less, so that it has
// many threads. `store` is how it stores large results.
inline void expect_wide_accesses_and_one_run(const std::string& op, const std::string& store) {
  using testing::HasSubstr;
  const OperatorCheck check(op);
  const auto first = [&](const std::string& words) { return check.first_of_ladder(words, kH200); };
  EXPECT_EQ(first("rows=8192,hidden=11008,T=bf16"),
            "flat THREADS=256 VEC=8 UNROLL=1 LOAD=normal STORE=" + store + " PDL=true");
  EXPECT_EQ(first("rows=4096,hidden=11007,T=f32"),
            "flat THREADS=256 VEC=4 UNROLL=1 LOAD=normal STORE=" + store + " PDL=true");
  EXPECT_THAT(first("rows=16,hidden=14336,T=bf16"), testing::ContainsRegex("^flat .*VEC=[12] "));
  EXPECT_THAT(first("rows=16,hidden=14336,T=f32"), testing::ContainsRegex("^flat .*VEC=1 "));
  EXPECT_THAT(check.first_of_ladder("rows=16,hidden=14336,T=bf16", kT4),
              testing::AllOf(HasSubstr("VEC=8 "), HasSubstr("PDL=false")));
  EXPECT_THAT(first("rows=8192,hidden=11008,gate_stride=22016,T=bf16"),
              testing::ContainsRegex("^rows .*VEC=8 .*ROWS=wide"));
  EXPECT_THAT(first("rows=8192,hidden=11006,gate_stride=11008,T=bf16"),
              testing::ContainsRegex("^rows .*VEC=2 .*ROWS=wide"));
  EXPECT_THAT(first("rows=80192,hidden=128,gate_stride=256,T=bf16"),
              testing::ContainsRegex("^rows .*VEC=8 .*ROWS=narrow"));
}

inline void expect_small_space(const std::string& op) {
  const OperatorCheck check(op);
  EXPECT_LE(check.count("rows=8192,hidden=11008,T=bf16", kH200), 400u);
  EXPECT_GE(check.count("rows=8192,hidden=11008,T=bf16", kH200), 100u);
  EXPECT_LE(check.count("rows=16,hidden=14336,T=bf16", kH200), 400u);
}

}  // namespace mgtune

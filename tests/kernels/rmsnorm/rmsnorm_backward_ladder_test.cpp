// The ladders of rmsnorm.backward and rmsnorm.add_backward serve every size, dtype, stride and
// alignment, and start with a design that fits the size.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "selection/admission.h"
#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/kernels/rmsnorm_backward.h"

namespace mgtune {
namespace {

// Any pointer: of its elements' alignment.
TEST(RmsnormBackwardLadder, ServesEverySizeDTypeStrideAndAlignment) {
  const DeviceLimits oldest{75, 40, 65536, 4 << 20}, newest{90, 132, 232448, 50 << 20};
  std::vector<std::int64_t> sizes{50001, 65535, 65537, 98304, 262143, 262144};
  for (std::int64_t hidden = 1; hidden <= 4200; hidden += hidden < 70 ? 1 : 59) {
    sizes.push_back(hidden);
  }
  for (const char* name : {"rmsnorm.backward", "rmsnorm.add_backward"}) {
    const Operator& op = rmsnorm_backward_operator(name);
    const std::string stride = op.name == "backward" ? "x_stride" : "s_stride";
    for (const char* dtypes : {"T=f32", "T=bf16", "T=f16,W=f32"}) {
      for (const std::int64_t hidden : sizes) {
        for (const std::int64_t more : {0, 1}) {
          for (const char* dw : {"", ",dw=true"}) {
            const Problem problem =
                problem_of(op, "rows=3,hidden=" + std::to_string(hidden) + "," + stride + "=" +
                                   std::to_string(hidden + more) + "," + dtypes + dw);
            for (const DeviceLimits& limits : {oldest, newest}) {
              EXPECT_TRUE(std::ranges::any_of(default_ladder(problem.binding(), limits),
                                              [&](const Variant& variant) {
                                                return may_serve(problem, variant, limits) &&
                                                       accepts_any_pointer(problem, variant,
                                                                           limits);
                                              }))
                  << problem.text() << " on sm_" << limits.compute_capability;
            }
          }
        }
      }
    }
  }
}

std::string first_backward_rung(const std::string& words, const DeviceLimits& gpu) {
  const Operator& op = rmsnorm_backward_operator("rmsnorm.backward");
  const Problem problem = problem_of(op, words);
  for (const Variant& variant : default_ladder(problem.binding(), gpu)) {
    if (may_serve(problem, variant, gpu)) return variant_text(op, variant);
  }
  return "none";
}

std::int64_t backward_number(const std::string& text, const std::string& name) {
  const std::size_t at = text.find(" " + name + "=");
  EXPECT_NE(at, std::string::npos) << text;
  return at == std::string::npos ? 0 : std::atoll(text.c_str() + at + name.size() + 2);
}

TEST(RmsnormBackwardLadder, BringsAnEighthOfSharedMemoryOnItsWay) {
  for (const std::int64_t hidden : {128, 512, 1024, 1536, 2048, 3072, 4096, 5120, 6144}) {
    const std::string words = fmt::format("rows=8192,hidden={},T=bf16,dw=true", hidden);
    const std::string text = first_backward_rung(words, kH200);
    EXPECT_THAT(text, testing::StartsWith("persistent "));
    const std::int64_t bytes = backward_number(text, "ROWS_PER_BLOCK") *
                               backward_number(text, "BLOCKS_PER_SM") * 2 * hidden * 2;
    EXPECT_GE(bytes * 8, kH200.max_shared_bytes) << words << ": " << text;
    EXPECT_LE(bytes * 4, kH200.max_shared_bytes) << words << ": " << text;
  }
}

TEST(RmsnormBackwardLadder, SpreadsWideRowsOverMoreBlocksTheWiderTheyAre) {
  std::int64_t before = 0;
  for (const std::int64_t hidden : {8192, 12288, 16384, 24576, 32768, 65536, 131072}) {
    for (const char* dw : {"", ",dw=true"}) {
      const std::string text =
          first_backward_rung(fmt::format("rows=512,hidden={},T=bf16{}", hidden, dw), kH200);
      EXPECT_THAT(text, testing::StartsWith("cluster ")) << hidden << dw;
      EXPECT_GE(backward_number(text, "CLUSTER"), before) << text;
      before = backward_number(text, "CLUSTER");
    }
  }
  EXPECT_EQ(before, 16);
  EXPECT_THAT(first_backward_rung("rows=512,hidden=65537,T=bf16,dw=true", kH200),
              testing::StartsWith("two_pass "))
      << "no slices of 16 bytes";
}

// sm_75 has no copies into shared memory: 16 bytes a load all the same.
TEST(RmsnormBackwardLadder, LoadsWholeVectorsOnTheOldestArchitecture) {
  for (const char* hidden : {"1024", "4096"}) {
    const std::string text =
        first_backward_rung("rows=8192,T=f16,dw=true,hidden=" + std::string(hidden), kT4);
    EXPECT_THAT(text, testing::StartsWith("persistent "));
    EXPECT_EQ(backward_number(text, "VEC"), 8) << text;
  }
}

}  // namespace
}  // namespace mgtune

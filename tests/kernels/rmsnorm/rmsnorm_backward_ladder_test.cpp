// The ladders of rmsnorm.backward and rmsnorm.add_backward serve every size, dtype, stride and
// alignment, and start with a design that fits the size.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "selection/admission.h"
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

// On an H200 an SM wants 30 KiB of a stage on their way: rows at once by what a row has.
TEST(RmsnormBackwardLadder, BeginsWithWhatBringsEnoughBytesOnTheirWay) {
  const Operator& op = rmsnorm_backward_operator("rmsnorm.backward");
  const DeviceLimits h200{90, 132, 232448, 60 << 20};
  const auto first_on = [&](const DeviceLimits& gpu, const std::string& words) -> std::string {
    const Problem problem = problem_of(op, words);
    for (const Variant& variant : default_ladder(problem.binding(), gpu)) {
      if (may_serve(problem, variant, gpu)) return variant_text(op, variant);
    }
    return "none";
  };
  const auto first = [&](const std::string& words) {
    return first_on(h200, "rows=512,hidden=" + words + ",dw=true");
  };
  using testing::AllOf;
  using testing::HasSubstr;
  using testing::StartsWith;
  const auto persistent = [](int threads, int rows, int blocks) {
    return AllOf(
        StartsWith(fmt::format("persistent THREADS_PER_ROW={} ROWS_PER_BLOCK={} ", threads, rows)),
        HasSubstr(fmt::format("BLOCKS_PER_SM={} ", blocks)));
  };
  const auto cluster = [](int threads, int rows, int stages, int blocks) {
    return StartsWith(fmt::format("cluster THREADS={} VEC=8 ROWS_AT_ONCE={} STAGES={} CLUSTER={} ",
                                  threads, rows, stages, blocks));
  };
  EXPECT_THAT(first("50,T=bf16"), persistent(32, 4, 4));
  EXPECT_THAT(first("128,T=bf16"), persistent(16, 16, 3));
  EXPECT_THAT(first("512,T=bf16"), persistent(32, 8, 2));
  EXPECT_THAT(first("1024,T=bf16"), persistent(64, 8, 1));
  EXPECT_THAT(first("1536,T=bf16"), persistent(64, 3, 2));
  EXPECT_THAT(first("2048,T=bf16"), persistent(128, 4, 1));
  EXPECT_THAT(first("3072,T=bf16"), persistent(128, 3, 1));
  EXPECT_THAT(first("4096,T=bf16"), persistent(256, 2, 1));
  EXPECT_THAT(first("6144,T=bf16"), persistent(256, 2, 1));
  EXPECT_THAT(first("8192,T=bf16"), cluster(512, 2, 3, 2));
  EXPECT_THAT(first("9216,T=bf16"), cluster(256, 2, 3, 2));
  EXPECT_THAT(first("12288,T=bf16"), cluster(512, 2, 3, 2));
  EXPECT_THAT(first("16384,T=bf16"), cluster(512, 1, 4, 2));
  EXPECT_THAT(first("24576,T=bf16"), cluster(512, 1, 4, 2));
  EXPECT_THAT(first("28672,T=bf16"), cluster(512, 1, 4, 4));
  EXPECT_THAT(first("32768,T=bf16"), cluster(128, 1, 3, 16));
  EXPECT_THAT(first("40960,T=bf16"), cluster(128, 1, 3, 16));
  EXPECT_THAT(first("65536,T=bf16"), cluster(128, 1, 3, 16));
  EXPECT_THAT(first("131072,T=bf16"), cluster(256, 1, 3, 16));
  EXPECT_THAT(first("65537,T=bf16"), StartsWith("two_pass"));
  EXPECT_THAT(first("1024,T=f32"), persistent(128, 4, 1));
  EXPECT_THAT(first("4096,T=f32"), persistent(512, 2, 1));
  // Without dw a thread has registers for more.
  const auto without_dw = [&](const std::string& words) {
    return first_on(h200, "rows=8192,hidden=" + words);
  };
  EXPECT_THAT(without_dw("2048,T=bf16"), persistent(256, 4, 1));
  EXPECT_THAT(without_dw("5120,T=bf16"), persistent(512, 2, 1));
  EXPECT_THAT(without_dw("8192,T=bf16"), cluster(512, 1, 3, 2));
  EXPECT_THAT(without_dw("8200,T=bf16"), persistent(512, 2, 1));
  EXPECT_THAT(without_dw("16384,T=bf16"), cluster(512, 1, 4, 2));
  // sm_75 has no copies into shared memory: 16 bytes a load all the same.
  const DeviceLimits t4{75, 40, 65536, 4 << 20};
  EXPECT_THAT(first_on(t4, "rows=8192,hidden=4096,T=f16,dw=true"),
              StartsWith("persistent THREADS_PER_ROW=256 ROWS_PER_BLOCK=1 VEC=8"));
  EXPECT_THAT(first_on(t4, "rows=8192,hidden=1024,T=f16,dw=true"),
              StartsWith("persistent THREADS_PER_ROW=128 ROWS_PER_BLOCK=1 VEC=8"));
}

}  // namespace
}  // namespace mgtune

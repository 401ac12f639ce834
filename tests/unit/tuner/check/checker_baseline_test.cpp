// Checks that judge by a baseline: no output may be off by more than twice what the same
// mathematics in low precision is, wherever the comparing is done.

#include <cmath>

#include "tests/helpers/kernels/checker_fixture.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;

// y = x * x. The baseline is off by 1/64 at most; variants by ERROR / 64, the last one by NaN.
constexpr char kJson[] = R"json({
  "format": 1,
  "dims": {"rows": "dynamic", "stride": {"kind": "dynamic", "default": "100"}},
  "tensors": {
    "x": {"role": "in", "dtype": "f32", "shape": ["rows", "100"], "fill": "uniform(0, 1)"},
    "y": {"role": "out", "dtype": "f32", "shape": ["rows", "100"], "strides": ["stride", "1"]}
  },
  "cost": {"bytes": "800 * rows", "flops": "100 * rows"},
  "check": {"reference": "square_exactly", "measure": "twice_low_precision",
            "baseline": "square_roughly", "slack": {"f32": 1e-6}},
  "designs": {
    "only": {
      "source": "square.cu",
      "params": {"ERROR": [0, 1, 2, 3, 99]},
      "launches": [{"kernel": "square<ERROR>", "grid": ["rows"], "block": ["100"],
                    "args": ["x", "y", "stride:i64"]}],
      "defaults": [{"ERROR": 0}]
    }
  }
})json";

constexpr char kSource[] = R"(
#include <mg/types.cuh>
template <int ERROR>
__global__ void square(const float* x, float* y, mg::i64 stride) {
  const float value = x[blockIdx.x * 100 + threadIdx.x];
  float result = value * value;
  if (blockIdx.x == 1 && threadIdx.x == 7) result += ERROR / 64.0f;
  if (ERROR == 99 && threadIdx.x == 9) result = -__uint_as_float(0x7f800000u);
  y[blockIdx.x * stride + threadIdx.x] = result;
}
)";

constexpr char kReference[] = R"(
#include <mg/types.cuh>
__device__ inline void each(const float* x, double* y, long long rows, double error) {
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * 100;
       i += mg::i64{gridDim.x} * blockDim.x) {
    y[i] = static_cast<double>(x[i]) * static_cast<double>(x[i]);
    if (error > 0.0 && i == 5) y[i] -= error;
    if (error > 0.0 && i == 6) y[i] = __uint_as_float(0x7f800000u);  // says nothing
  }
}
template <class Problem>
__global__ void square_exactly(const float* x, double* y, Problem problem) {
  each(x, y, problem.rows, 0.0);
}
template <class Problem>
__global__ void square_roughly(const float* x, double* y, Problem problem) {
  each(x, y, problem.rows, 1.0 / 64.0);
}
)";

class CheckerBaselineTest : public CheckerTest,
                            public testing::WithParamInterface<Checker::Compare> {
 protected:
  void SetUp() override {
    use("square", {{"square.json", kJson}, {"square.cu", kSource}, {"reference.cu", kReference}});
  }
};

TEST_P(CheckerBaselineTest, TwiceItsErrorIsRight) {
  bind({{"rows", "3"}}, GetParam());
  for (const char* error : {"0", "1", "2"}) {
    const CheckRecord record = check(std::string("only ERROR=") + error);
    EXPECT_EQ(record.outcome, Outcome::ok) << record.message;
    EXPECT_NEAR(record.tolerance, 2.0 / 64 + 1e-6, 1e-9);
    EXPECT_NEAR(record.error, std::atoi(error) / 64.0, 1e-6);
  }
}

TEST_P(CheckerBaselineTest, MoreIsWrongAndNamed) {
  bind({{"rows", "3"}}, GetParam());
  const CheckRecord record = check("only ERROR=3");
  EXPECT_EQ(record.outcome, Outcome::wrong);
  EXPECT_THAT(record.message, HasSubstr("y[1, 7] is "));
  EXPECT_THAT(record.message, HasSubstr("the largest difference 0.0469 is above 0.0313"));
}

TEST_P(CheckerBaselineTest, WhatIsNotFiniteIsWrong) {
  bind({{"rows", "3"}}, GetParam());
  expect_wrong("only ERROR=99", "y[0, 9] is -inf");
}

TEST_P(CheckerBaselineTest, StridesAndNoRowsAreServed) {
  bind({{"rows", "3"}, {"stride", "104"}}, GetParam());
  EXPECT_EQ(check("only ERROR=2").outcome, Outcome::ok);
  EXPECT_EQ(check("only ERROR=3").outcome, Outcome::wrong);
  bind({{"rows", "0"}}, GetParam());
  EXPECT_EQ(check("only ERROR=3").outcome, Outcome::ok);
}

INSTANTIATE_TEST_SUITE_P(EachPlace, CheckerBaselineTest,
                         testing::Values(Checker::Compare::on_host, Checker::Compare::on_device),
                         [](const auto& each) {
                           return each.param == Checker::Compare::on_host ? "Host" : "Device";
                         });

TEST_F(CheckerTest, ABaselineThatIsMissingIsNamed) {
  std::string reference = kReference;
  reference.replace(reference.find("square_roughly"), 14, "square_otherwise");
  use("square", {{"square.json", kJson}, {"square.cu", kSource}, {"reference.cu", reference}});
  const Result<Problem> problem = bind_problem(*op_, {{"rows", "3"}});
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  const Status status = Checker::make(*device_, builder_, *problem).status();
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr("square_roughly"));
}

}  // namespace
}  // namespace mgtune

#include "final/problem_metrics.h"

#include <gtest/gtest.h>

#include "core/variant_words.h"
#include "family/problem.h"
#include "tests/helpers/operators/golden_operators.h"

namespace mgtune {
namespace {

TEST(ProblemMetricsTest, AProblemFixesAllButParametersAndTime) {
  const Result<Operator> op = decode_replaced("rmsnorm.forward", R"("check": {)", R"x("metrics": {
    "GFLOP/s": "flops / ns", "threads": "THREADS_PER_ROW * ROWS_PER_BLOCK",
    "row bytes": "hidden * sizeof(T) + sizeof(f64) * has(rstd)", "x": "bytes / (rows * ns)"},
    "check": {)x");
  ASSERT_TRUE(op.ok()) << op.status().message();
  const Problem problem =
      *bind_problem(*op, {{"rows", "2"}, {"hidden", "100"}, {"T", "bf16"}, {"rstd", "true"}});
  const Result<std::vector<Metric>> metrics = problem_metrics(problem);
  ASSERT_TRUE(metrics.ok()) << metrics.status().message();
  ASSERT_EQ(metrics->size(), 4U);
  EXPECT_EQ((*metrics)[0].name, "GFLOP/s");
  EXPECT_EQ((*metrics)[0].formula.text(), "800 / ns");
  EXPECT_EQ((*metrics)[1].formula.text(), "THREADS_PER_ROW * ROWS_PER_BLOCK");
  EXPECT_EQ((*metrics)[2].formula.text(), "100 * 2 + 8 * 1");
  EXPECT_EQ((*metrics)[3].formula.text(), "1000 / (2 * ns)");
  const VariantWords variant = split_variant("row THREADS_PER_ROW=8 ROWS_PER_BLOCK=4 VEC=1");
  EXPECT_EQ((*metrics)[0].formula.evaluate(variant, 1600), 0.5);
  EXPECT_EQ((*metrics)[1].formula.evaluate(variant, 1600), 32);
}

}  // namespace
}  // namespace mgtune

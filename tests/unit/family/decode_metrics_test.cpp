#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/variant_words.h"
#include "family/problem.h"
#include "family/problem_metrics.h"
#include "tests/helpers/operators/golden_operators.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Result<Operator> with_metrics(const std::string& metrics) {
  return decode_replaced("rmsnorm.forward", R"("check": {)",
                         R"("metrics": )" + metrics + R"(, "check": {)");
}

std::string refusal_of(const std::string& metrics) {
  return std::string(with_metrics(metrics).status().message());
}

TEST(DecodeMetricsTest, AProblemFixesAllButParametersAndTime) {
  const Result<Operator> op = with_metrics(R"x({
    "GFLOP/s": "flops / ns", "threads": "THREADS_PER_ROW * ROWS_PER_BLOCK",
    "row bytes": "hidden * sizeof(T) + sizeof(f64) * has(rstd)", "x": "bytes / (rows * ns)"})x");
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

TEST(DecodeMetricsTest, MistakesNameThePlaceAndWhatIsMeant) {
  EXPECT_THAT(refusal_of(R"({"GFLOP/s": "flop / ns"})"),
              AllOf(HasSubstr("kernels/rmsnorm/forward.json: /metrics/GFLOP~1s: unknown name "
                              "'flop'; did you mean 'flops'?"),
                    HasSubstr("\n  flop / ns\n  ^~~~")));
  const auto refused = [](const std::string& formula) {
    return refusal_of(R"({"a": ")" + formula + R"("})");
  };
  EXPECT_THAT(refused("T * 2"), HasSubstr("sizeof(T) is a number"));
  EXPECT_THAT(refused("sizeof(U)"), HasSubstr("'U' is neither a dtype nor"));
  EXPECT_THAT(refused("has(x)"), HasSubstr("'x' is not an optional tensor"));
  EXPECT_THAT(refused("device.cc * 2"), HasSubstr("belongs to a device"));
  EXPECT_THAT(refused("rows, 2"), HasSubstr("unexpected ','"));
  EXPECT_THAT(refused(std::string(600, '1')), HasSubstr("at most 512"));
  EXPECT_THAT(refusal_of(R"({"a": 3})"), HasSubstr("expected string"));
  EXPECT_THAT(refusal_of(R"({"": "ns"})"), HasSubstr("1 to 32 bytes"));
  EXPECT_THAT(refusal_of(R"({"a\nb": "ns"})"), HasSubstr("printable"));
  EXPECT_THAT(refusal_of("[]"), HasSubstr("/metrics: expected object"));
}

TEST(DecodeMetricsTest, AllMistakesAreNamedAtOnce) {
  EXPECT_THAT(refusal_of(R"({"a": "nss", "b": "ns", "c": "2 +"})"),
              AllOf(HasSubstr("/metrics/a"), HasSubstr("/metrics/c")));
}

TEST(DecodeMetricsTest, ADimThatIsCalledLikeAResultIsRefused) {
  std::string text = replaced(golden_text("rmsnorm.forward"), R"("check": {)",
                              R"("metrics": {"a": "ns"}, "check": {)");
  text = replaced(text, R"("rows": "dynamic",)", R"("rows": "dynamic", "ns": "hint",)");
  EXPECT_THAT(decode_text("rmsnorm.forward", text).status().message(),
              HasSubstr("'ns' is a name of this operator, but in metrics it is the time"));
}

}  // namespace
}  // namespace mgtune

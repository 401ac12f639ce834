#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

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

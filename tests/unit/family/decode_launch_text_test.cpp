// The part of an operator file that is the identity of a launch.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/helpers/operators/golden_operators.h"

namespace mgtune {
namespace {

TEST(LaunchText, SaysWhatShapesALaunch) {
  const std::string launch_text = golden_operator("rmsnorm.forward").designs[0].launch_text;
  EXPECT_EQ(launch_text,
            R"({"launches":[{"args":["x","weight","y","rstd","rows:i64","x_stride:i64","eps"],)"
            R"("block":["THREADS_PER_ROW * ROWS_PER_BLOCK"],)"
            R"j("grid":["ceil_div(rows, ROWS_PER_BLOCK)"],)j"
            R"("kernel":"rmsnorm_forward<T, hidden, THREADS_PER_ROW, ROWS_PER_BLOCK, VEC, )"
            R"j(has(rstd)>"}]})j");
  const auto changed = [](const std::string& from, const std::string& to) {
    return decode_replaced("rmsnorm.forward", from, to)->designs[0].launch_text;
  };
  EXPECT_EQ(changed(R"("VEC": [1, 2, 4, 8])", R"("VEC": [1, 8])"), launch_text);
  EXPECT_NE(changed("rows:i64", "rows:i32"), launch_text);
}

// The results of a design stay valid if its estimate or a constraint changes.
TEST(LaunchText, HasOnlyTheLetsThatALaunchNeeds) {
  const auto text = [](const std::string& let, const std::string& grid) {
    const std::string with_grid =
        replaced(golden_text("rmsnorm.forward"), R"j("grid": ["ceil_div(rows, ROWS_PER_BLOCK)"])j",
                 R"("grid": [")" + grid + R"("])");
    const Result<Operator> op = decode_text(
        "rmsnorm.forward",
        replaced(with_grid, R"("launches": [)", R"("let": {)" + let + R"(}, "launches": [)"));
    EXPECT_TRUE(op.ok()) << op.status().message();
    return op.ok() ? op->designs[0].launch_text : "";
  };
  const std::string two = R"("half": "rows / 2", "blocks": "half + 1")";
  EXPECT_THAT(text(two, "blocks"),
              testing::HasSubstr(R"("let":{"blocks":"half + 1","half":"rows / 2"})"));
  EXPECT_THAT(text(two, "half"), testing::HasSubstr(R"("let":{"half":"rows / 2"})"));
  EXPECT_THAT(text(two, "rows"), testing::Not(testing::HasSubstr(R"("let")")));
  EXPECT_EQ(text(two + R"(, "cost": "blocks * 3")", "blocks"), text(two, "blocks"));
  EXPECT_NE(text(R"("half": "rows / 3", "blocks": "half + 1")", "blocks"), text(two, "blocks"));
}

}  // namespace
}  // namespace mgtune

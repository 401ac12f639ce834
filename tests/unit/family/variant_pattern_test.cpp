#include "family/variant_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "family/problem.h"
#include "tests/helpers/operators/golden_operators.h"

namespace mgtune {
namespace {

using testing::HasSubstr;

constexpr char kFirstRung[] = R"j({ "THREADS_PER_ROW": 128, "ROWS_PER_BLOCK": 1, "VEC": 8 })j";

// rmsnorm.forward with another first rung; the second is row 32, 4, 1.
Result<Operator> with_rung(const std::string& rung) {
  return decode_replaced("rmsnorm.forward", kFirstRung, rung);
}

Result<Operator> with_units(const std::string& units) {
  return decode_replaced("rmsnorm.forward", R"j("constraints": [
        "hidden % VEC == 0")j",
                         "\"units\": " + units + R"j(, "constraints": [
        "hidden % VEC == 0")j");
}

std::vector<std::string> ladder_at(const Operator& op, const std::string& hidden,
                                   const std::string& dtype) {
  const auto binding = bind_static(op, {{"hidden", hidden}, {"T", dtype}});
  EXPECT_TRUE(binding.ok()) << binding.status().message();
  std::vector<std::string> texts;
  for (const Variant& variant : default_ladder(*binding, kH200)) {
    texts.push_back(variant_text(op, variant));
  }
  return texts;
}

std::string first_at(const Operator& op, const std::string& hidden, const std::string& dtype) {
  return ladder_at(op, hidden, dtype).front();
}

TEST(VariantPatternTest, NearestValueIsNearestAsARatio) {
  const std::vector<std::int64_t> values{4, 1, 16};
  EXPECT_EQ(nearest_value(values, 4), 4);
  EXPECT_EQ(nearest_value(values, 7), 4);
  EXPECT_EQ(nearest_value(values, 9), 16);
  EXPECT_EQ(nearest_value({4, 8}, 6), 8) << "6 / 4 is more than 8 / 6";
}

TEST(VariantPatternTest, OfTwoThatAreEquallyNearTheSmallerOneCounts) {
  EXPECT_EQ(nearest_value({4, 1, 16}, 2), 1);
  EXPECT_EQ(nearest_value({4, 1, 16}, 8), 4);
}

TEST(VariantPatternTest, OutsideOfTheListTheNearerEndCounts) {
  EXPECT_EQ(nearest_value({8, 64}, 1), 8);
  EXPECT_EQ(nearest_value({8, 64}, 0), 8);
  EXPECT_EQ(nearest_value({8, 64}, -100), 8);
  EXPECT_EQ(nearest_value({8, 64}, 100000), 64);
  EXPECT_EQ(nearest_value({2}, 1), 2);
  EXPECT_EQ(nearest_value({2}, 1000), 2);
  EXPECT_EQ(nearest_value({1, 2}, std::int64_t{1} << 62), 2);
}

constexpr char kOfTheProblem[] =
    R"j({ "THREADS_PER_ROW": "hidden / VEC / 2", "ROWS_PER_BLOCK": "256 / THREADS_PER_ROW",
         "VEC": "gcd(hidden, 16 / sizeof(T))" })j";

TEST(VariantPatternTest, IsOneVariantAtEachProblem) {
  const Result<Operator> op = with_rung(kOfTheProblem);
  ASSERT_TRUE(op.ok()) << op.status().message();
  EXPECT_EQ(first_at(*op, "4096", "bf16"), "row THREADS_PER_ROW=256 ROWS_PER_BLOCK=1 VEC=8");
  EXPECT_EQ(first_at(*op, "4096", "f32"), "row THREADS_PER_ROW=512 ROWS_PER_BLOCK=1 VEC=4");
  EXPECT_EQ(first_at(*op, "1024", "bf16"), "row THREADS_PER_ROW=64 ROWS_PER_BLOCK=4 VEC=8");
  EXPECT_EQ(first_at(*op, "100", "bf16"), "row THREADS_PER_ROW=16 ROWS_PER_BLOCK=8 VEC=4");
  EXPECT_EQ(first_at(*op, "33", "bf16"), "row THREADS_PER_ROW=16 ROWS_PER_BLOCK=8 VEC=1");
  EXPECT_EQ(first_at(*op, "1048576", "f32"), "row THREADS_PER_ROW=512 ROWS_PER_BLOCK=1 VEC=4");
}

// VEC is the last parameter and the first to be evaluated above; here it is the other way round.
TEST(VariantPatternTest, ExpressionsMayNeedEachOtherInAnyOrder) {
  const Result<Operator> op =
      with_rung(R"j({ "THREADS_PER_ROW": "hidden / 32", "ROWS_PER_BLOCK": "256 / THREADS_PER_ROW",
                     "VEC": "4 / ROWS_PER_BLOCK" })j");
  ASSERT_TRUE(op.ok()) << op.status().message();
  EXPECT_EQ(first_at(*op, "2048", "f32"), "row THREADS_PER_ROW=64 ROWS_PER_BLOCK=4 VEC=1");
  EXPECT_EQ(first_at(*op, "8192", "f32"), "row THREADS_PER_ROW=256 ROWS_PER_BLOCK=1 VEC=4");
  const Result<Operator> last = with_rung(kOfTheProblem);
  const Design& design = last->designs[0];
  EXPECT_EQ(*evaluation_order(design, design.defaults[0].values),
            (std::vector<std::size_t>{2, 0, 1}));
}

TEST(VariantPatternTest, ExpressionsMayUseTheDeviceAndFlags) {
  const Result<Operator> op =
      with_rung(R"j({ "THREADS_PER_ROW": "has(rstd) ? 64 : device.max_shared / 1024",
                     "ROWS_PER_BLOCK": 1, "VEC": 1 })j");
  ASSERT_TRUE(op.ok()) << op.status().message();
  const auto threads = [&](const char* rstd, const DeviceLimits& device) {
    const auto binding = bind_static(*op, {{"hidden", "64"}, {"T", "f32"}, {"rstd", rstd}});
    EXPECT_TRUE(binding.ok()) << binding.status().message();
    return default_ladder(*binding, device).front().values.front();
  };
  EXPECT_EQ(threads("true", kH200), 64);
  EXPECT_EQ(threads("false", kH200), 256);
  EXPECT_EQ(threads("false", kT4), 64);
}

TEST(VariantPatternTest, ADivisionByZeroGivesNoRung) {
  const Result<Operator> op = with_rung(
      R"j({ "THREADS_PER_ROW": "4096 / (hidden - 64)", "ROWS_PER_BLOCK": 1, "VEC": 8 })j");
  ASSERT_TRUE(op.ok()) << op.status().message();
  const std::string second = "row THREADS_PER_ROW=32 ROWS_PER_BLOCK=4 VEC=1";
  EXPECT_EQ(ladder_at(*op, "128", "bf16"),
            (std::vector<std::string>{"row THREADS_PER_ROW=64 ROWS_PER_BLOCK=1 VEC=8", second}));
  EXPECT_EQ(ladder_at(*op, "64", "bf16"), std::vector<std::string>{second});
}

TEST(VariantPatternTest, ALadderHasEachVariantOnce) {
  const Result<Operator> op = with_rung(std::string(kOfTheProblem) + ", " + kFirstRung);
  ASSERT_TRUE(op.ok()) << op.status().message();
  EXPECT_EQ(ladder_at(*op, "2048", "bf16"),
            (std::vector<std::string>{"row THREADS_PER_ROW=128 ROWS_PER_BLOCK=2 VEC=8",
                                      "row THREADS_PER_ROW=128 ROWS_PER_BLOCK=1 VEC=8",
                                      "row THREADS_PER_ROW=32 ROWS_PER_BLOCK=4 VEC=1"}));
  const Result<Operator> same = with_rung(
      R"j({ "THREADS_PER_ROW": "hidden / VEC / 2", "ROWS_PER_BLOCK": "hidden / 2048", "VEC": 8 }, )j" +
      std::string(kFirstRung));
  ASSERT_TRUE(same.ok()) << same.status().message();
  EXPECT_EQ(ladder_at(*same, "2048", "bf16"),
            (std::vector<std::string>{"row THREADS_PER_ROW=128 ROWS_PER_BLOCK=1 VEC=8",
                                      "row THREADS_PER_ROW=32 ROWS_PER_BLOCK=4 VEC=1"}));
}

TEST(VariantPatternTest, TextHasNoSpacesInExpressions) {
  const Result<Operator> op = with_rung(kOfTheProblem);
  ASSERT_TRUE(op.ok()) << op.status().message();
  EXPECT_EQ(pattern_text(*op, {0, op->designs[0].defaults[0].values}),
            "row THREADS_PER_ROW=hidden/VEC/2 ROWS_PER_BLOCK=256/THREADS_PER_ROW "
            "VEC=gcd(hidden,16/sizeof(T))");
  const Variant variant = *parse_variant(*op, "row THREADS_PER_ROW=64 ROWS_PER_BLOCK=4 VEC=2");
  EXPECT_EQ(pattern_text(*op, pattern_of(variant)),
            "row THREADS_PER_ROW=64 ROWS_PER_BLOCK=4 VEC=2");
}

TEST(VariantPatternTest, APatternOfAVariantIsThatVariantEverywhere) {
  const Operator op = golden_operator("rmsnorm.forward");
  const Variant variant = *parse_variant(op, "row THREADS_PER_ROW=64 ROWS_PER_BLOCK=4 VEC=2");
  for (const char* hidden : {"1", "4096"}) {
    const auto binding = bind_static(op, {{"hidden", hidden}, {"T", "f32"}});
    EXPECT_EQ(variant_of(pattern_of(variant), *binding, kH200), variant) << hidden;
  }
}

TEST(VariantPatternTest, CircularExpressionsAreRefusedWithTheirPlace) {
  const auto error = [](const std::string& rung) { return with_rung(rung).status().message(); };
  const std::string circular =
      "kernels/rmsnorm/forward.json: /designs/row/defaults/0: the expressions of "
      "THREADS_PER_ROW and ROWS_PER_BLOCK need each other";
  EXPECT_EQ(error(R"j({ "THREADS_PER_ROW": "256 / ROWS_PER_BLOCK",
                       "ROWS_PER_BLOCK": "256 / THREADS_PER_ROW", "VEC": 8 })j"),
            circular);
  EXPECT_THAT(error(R"j({ "THREADS_PER_ROW": 64, "ROWS_PER_BLOCK": 1, "VEC": "VEC * 2" })j"),
              HasSubstr("/designs/row/defaults/0: the expression of VEC needs itself"));
}

TEST(VariantPatternTest, WhatIsNotKnownWhenAVariantIsCompiledIsRefused) {
  const auto error = [](const std::string& threads) {
    return with_rung(R"j({ "THREADS_PER_ROW": ")j" + threads +
                     R"j(", "ROWS_PER_BLOCK": 1, "VEC": 8 })j")
        .status()
        .message();
  };
  const std::string place =
      "kernels/rmsnorm/forward.json: /designs/row/defaults/0/THREADS_PER_ROW: ";
  EXPECT_EQ(error("x_stride / 8"),
            place + "'x_stride' is known only at launch; this is fixed before compiling");
  EXPECT_EQ(error("rows"),
            place + "'rows' is known only at launch; this is fixed before compiling");
  EXPECT_EQ(error("build.blocks_per_sm * 32"),
            place +
                "'build.blocks_per_sm' is known only after loading; this is fixed before "
                "compiling");
  EXPECT_THAT(error("hidden > 64"), HasSubstr("expected integer, got boolean"));
  EXPECT_THAT(error("hiden / 8"), HasSubstr("unknown name 'hiden'; did you mean 'hidden'?"));
}

TEST(VariantPatternTest, LetsAreRefused) {
  const std::string with_let = replaced(
      replaced(golden_text("rmsnorm.forward"), R"j("source": )j",
               R"j("let": {"threads": "THREADS_PER_ROW * ROWS_PER_BLOCK"}, "source": )j"),
      kFirstRung, R"j({ "THREADS_PER_ROW": 64, "ROWS_PER_BLOCK": 1, "VEC": "threads / 8" })j");
  EXPECT_EQ(decode_text("rmsnorm.forward", with_let).status().message(),
            "kernels/rmsnorm/forward.json: /designs/row/defaults/0/VEC: 'threads' is a let; the "
            "expression of a parameter may use dims, dtypes, flags, device.* and other parameters");
}

// rmsnorm.backward with this RELOAD and PDL in its first rung, and these values of PDL.
Result<Operator> with_booleans(const std::string& reload, const std::string& pdl,
                               const std::string& pdl_values = "[false, true]") {
  const std::string text = replaced(golden_text("rmsnorm.backward"), R"j("PDL": [false, true])j",
                                    R"j("PDL": )j" + pdl_values);
  return decode_text("rmsnorm.backward", replaced(text, R"j("RELOAD": false,
          "REDUCE_ROWS": 8,
          "PDL": false)j",
                                                  R"j("RELOAD": )j" + reload +
                                                      R"j(, "REDUCE_ROWS": 8, "PDL": )j" + pdl));
}

TEST(VariantPatternTest, AConditionGivesABoolean) {
  const Result<Operator> op = with_booleans(R"j("hidden > 4096")j", R"j("device.cc >= 90")j");
  ASSERT_TRUE(op.ok()) << op.status().message();
  const auto booleans_of_first = [&](const char* hidden, const DeviceLimits& device) {
    const auto binding = bind_static(*op, {{"hidden", hidden}, {"T", "f32"}, {"W", "f32"}});
    EXPECT_TRUE(binding.ok()) << binding.status().message();
    const std::string text = variant_text(*op, default_ladder(*binding, device).front());
    return text.substr(text.find("RELOAD"));
  };
  EXPECT_EQ(booleans_of_first("4096", kH200), "RELOAD=false REDUCE_ROWS=8 PDL=true");
  EXPECT_EQ(booleans_of_first("8192", kH200), "RELOAD=true REDUCE_ROWS=8 PDL=true");
  EXPECT_EQ(booleans_of_first("4096", kT4), "RELOAD=false REDUCE_ROWS=8 PDL=false");
  const std::string text = pattern_text(*op, {0, op->designs[0].defaults[0].values});
  EXPECT_THAT(text, HasSubstr("RELOAD=hidden>4096 REDUCE_ROWS=8 PDL=device.cc>=90"));
}

TEST(VariantPatternTest, ABooleanThatIsNotInTheListGivesNoRung) {
  const Result<Operator> op = with_booleans("false", R"j("device.cc >= 90")j", "[false]");
  ASSERT_TRUE(op.ok()) << op.status().message();
  const auto binding = bind_static(*op, {{"hidden", "4096"}, {"T", "f32"}, {"W", "f32"}});
  ASSERT_TRUE(binding.ok()) << binding.status().message();
  EXPECT_EQ(default_ladder(*binding, kH200).size() + 1, default_ladder(*binding, kT4).size());
}

TEST(VariantPatternTest, ABooleanNeedsACondition) {
  EXPECT_THAT(with_booleans("false", R"j("device.cc")j").status().message(),
              HasSubstr("/designs/partials/defaults/0/PDL: expected boolean, got integer"));
  EXPECT_THAT(with_booleans("false", "1").status().message(),
              HasSubstr("/designs/partials/defaults/0/PDL: expected boolean, got"));
}

TEST(VariantPatternTest, IdentifiersHaveNoExpressions) {
  const auto status = decode_replaced("rmsnorm.backward", R"j("LOAD": "ldg",
          "RELOAD": false)j",
                                      R"j("LOAD": "VEC / 2",
          "RELOAD": false)j")
                          .status();
  EXPECT_THAT(status.message(),
              HasSubstr("/designs/partials/defaults/0/LOAD: 'VEC / 2' cannot be a value"));
}

TEST(UnitTest, MayUseUnitsBeforeIt) {
  const Result<Operator> op =
      with_units(R"j({"VEC": "gcd(hidden, 16 / sizeof(T))", "THREADS_PER_ROW": "hidden / VEC"})j");
  ASSERT_TRUE(op.ok()) << op.status().message();
  const std::vector<Unit>& units = op->designs[0].units;
  ASSERT_EQ(units.size(), 2U);
  EXPECT_EQ(units[0].parameter, 2U);
  EXPECT_EQ(units[1].parameter, 0U);
  EXPECT_EQ(units[1].value.text(), "hidden / VEC");
}

TEST(UnitTest, WhatCannotBeIsRefusedWithItsPlace) {
  const auto error = [](const std::string& units) { return with_units(units).status().message(); };
  const std::string place = "kernels/rmsnorm/forward.json: /designs/row/units/";
  EXPECT_EQ(error(R"j({"VECS": "hidden"})j"),
            place + "VECS: 'VECS' is not a parameter of 'row'; did you mean 'VEC'?");
  EXPECT_EQ(error(R"j({"THREADS_PER_ROW": "hidden / VEC", "VEC": "gcd(hidden, 8)"})j"),
            place + "THREADS_PER_ROW: 'VEC' has a unit itself, which has to stand before this one");
  EXPECT_EQ(error(R"j({"VEC": "2 * VEC"})j"), place + "VEC: the unit of 'VEC' needs itself");
  EXPECT_EQ(error(R"j({"VEC": "rows"})j"),
            place + "VEC: 'rows' is known only at launch; this is fixed before compiling");
  const auto of_backward = [](const std::string& units) {
    return decode_replaced("rmsnorm.backward", R"j("launches": )j",
                           "\"units\": " + units + R"j(, "launches": )j")
        .status()
        .message();
  };
  EXPECT_THAT(of_backward(R"j({"PDL": "hidden"})j"), HasSubstr("/designs/partials/units/PDL: "));
  EXPECT_EQ(of_backward(R"j({"PDL": "device.cc >= 90"})j"), "");
  EXPECT_EQ(of_backward(R"j({"LOAD": "hidden"})j"),
            "kernels/rmsnorm/backward.json: /designs/partials/units/LOAD: the values of 'LOAD' are "
            "neither integers nor booleans");
}

}  // namespace
}  // namespace mgtune

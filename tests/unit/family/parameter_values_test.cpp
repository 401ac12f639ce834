// Parameters whose values are floating numbers or strings.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "family/variant.h"
#include "tests/helpers/operators/golden_operators.h"

namespace mgtune {
namespace {

using testing::HasSubstr;

constexpr char kValues[] = R"json({
  "format": 1,
  "dims": {"n": "dynamic"},
  "tensors": {"y": {"role": "out", "dtype": "f32", "shape": ["n"]}},
  "cost": {"bytes": "4 * n", "flops": "n"},
  "check": {"reference": "values_reference", "measure": "relative_l2", "tolerance": {"f32": 0}},
  "designs": {"flat": {
    "source": "values.cu",
    "params": {"SCALE": [2.0, 0.5, 1, -1e-5], "LOAD": ["float4", "const float*", "plain"]},
    "constraints": ["SCALE != -0.00001 || LOAD == plain", "LOAD != 'const_float*' || SCALE == 0.5"],
    "defines": {"SCALE_BY": "SCALE", "LOAD_AS": "LOAD"},
    "launches": [{"kernel": "values<SCALE>", "grid": [1], "block": [32], "args": ["y", "n:i64"]}],
    "defaults": [{"SCALE": 1.0, "LOAD": "plain"}]}}
})json";

std::string values_text(const std::string& from = "const float*",
                        const std::string& to = "const_float*") {
  return replaced(kValues, from, to);
}

Operator values_operator() {
  Result<Operator> op = decode_text("own.values", values_text());
  EXPECT_TRUE(op.ok()) << op.status().message();
  return *std::move(op);
}

TEST(ParameterValuesTest, VariantsHaveThemAsTextAndAsMacros) {
  const Operator op = values_operator();
  const Binding binding = bind_static(op, {}).value();
  const std::string text = "flat SCALE=-1e-05 LOAD=plain";
  const Variant variant = parse_variant(op, text).value();
  EXPECT_EQ(variant_text(op, variant), text);
  const Slots slots = compile_slots(binding, variant, kH200).value();
  EXPECT_TRUE(is_admissible(op, variant, slots));
  EXPECT_EQ(*macro_definitions(op, variant, slots),
            (std::vector<MacroDefinition>{{"SCALE_BY", "-1e-05"}, {"LOAD_AS", "plain"}}));
  EXPECT_EQ(*kernel_names(op, variant, slots), std::vector<std::string>{"values<-1e-05f>"});
  EXPECT_EQ(variant_text(op, default_ladder(binding, kH200).front()), "flat SCALE=1.0 LOAD=plain");
}

TEST(ParameterValuesTest, ExpressionsCompareThem) {
  const Operator op = values_operator();
  const Binding binding = bind_static(op, {}).value();
  const auto is_allowed = [&](const char* text) {
    const Variant variant = parse_variant(op, text).value();
    return is_admissible(op, variant, compile_slots(binding, variant, kH200).value());
  };
  EXPECT_TRUE(is_allowed("flat SCALE=0.5 LOAD=const_float*"));
  EXPECT_FALSE(is_allowed("flat SCALE=2.0 LOAD=const_float*"));
  EXPECT_FALSE(is_allowed("flat SCALE=-1e-05 LOAD=float4"));
}

TEST(ParameterValuesTest, FloatingNumbersAreOrdered) {
  const Operator op = values_operator();
  const Parameter& scale = op.designs[0].params[0];
  ASSERT_TRUE(scale.is_real);
  EXPECT_LT(scale.values[3], scale.values[1]);  // -1e-5 and 0.5
  EXPECT_LT(scale.values[1], scale.values[2]);  // 0.5 and 1
  EXPECT_LT(scale.values[2], scale.values[0]);  // 1 and 2.0
  EXPECT_FALSE(op.designs[0].params[1].is_real);
}

TEST(ParameterValuesTest, AKernelHasAtMost64Arguments) {
  const auto status_with = [](int arguments) {
    std::string list = "\"y\"";
    for (int i = 1; i < arguments; ++i) list += ", \"n:i64\"";
    return decode_text("own.values", replaced(values_text(), "\"y\", \"n:i64\"", list)).status();
  };
  EXPECT_TRUE(status_with(64).ok()) << status_with(64).message();
  EXPECT_EQ(status_with(65).message(),
            "kernels/own/values.json: /designs/flat/launches/0/args: a kernel can have at most 64 "
            "arguments, and here are 65; put values together in a tensor or in a workspace");
}

TEST(ParameterValuesTest, WhatCannotBeIsRefused) {
  const auto error = [](const std::string& from, const std::string& to) {
    return decode_text("own.values", replaced(values_text(), from, to)).status().message();
  };
  EXPECT_THAT(error("SCALE == 0.5", "SCALE == 0.25"),
              HasSubstr("'SCALE' can never be '0.25'; it can be 2.0, 0.5, 1.0, -1e-05"));
  EXPECT_THAT(error("SCALE == 0.5", "0.25 == 0.25"), HasSubstr("no parameter has the value 0.25"));
  EXPECT_THAT(error("SCALE == 0.5", "SCALE < 0.5"), HasSubstr("expected integer"));
  EXPECT_THAT(error("values<SCALE>", "values<LOAD>"),
              HasSubstr("/designs/flat/launches/0/kernel: 'LOAD' can be 'const_float*', which "
                        "cannot be a template argument; pass it through \"defines\""));
  EXPECT_THAT(error("[2.0, 0.5, 1, ", "[2.0, 0.5, 2, "), HasSubstr("stands here twice"));
  EXPECT_THAT(error("\"SCALE\": 1.0", "\"SCALE\": 1.5"),
              HasSubstr("1.5 is not a value of 'SCALE'"));
  EXPECT_THAT(decode_text("own.values", kValues).status().message(),
              HasSubstr("'const float*' cannot be a value: a string has 1 to 64 letters"));
}

}  // namespace
}  // namespace mgtune

#include "expression/expression.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace mgtune {
namespace {

// The names of a small design, and a value for each.
class ExpressionTest : public testing::Test {
 protected:
  ExpressionTest() {
    declare("device.cc", ValueType::integer, Stage::compile, 90);
    declare("build.blocks_per_sm", ValueType::integer, Stage::load, 4);
    declare("hidden", ValueType::integer, Stage::compile, 4096);
    declare("rows", ValueType::integer, Stage::launch, 1000);
    declare("VEC", ValueType::integer, Stage::compile, 8);
    declare("zero", ValueType::integer, Stage::compile, 0);
    declare("low", ValueType::integer, Stage::compile, kLow);
    declare("high", ValueType::integer, Stage::compile, kHigh);
    declare("causal", ValueType::boolean, Stage::compile, 1);
    declare("has(lse)", ValueType::boolean, Stage::compile, 0);
    declare("T", ValueType::symbol, Stage::compile, static_cast<std::int64_t>(DType::bf16),
            {"f32", "f16", "bf16"});
    declare("W", ValueType::symbol, Stage::compile, static_cast<std::int64_t>(DType::f32),
            {"f32", "bf16"});
    declare("LOAD", ValueType::symbol, Stage::compile, 0, {"ldg", "cp_async", "bulk"});
    values_.back() = *scope_.find_symbol("cp_async");
    scope_.refuse("x", "'x' is a tensor");
  }

  void declare(const char* name, ValueType type, Stage stage, std::int64_t value,
               const std::vector<std::string>& symbols = {}) {
    const Result<int> slot = scope_.declare(name, type, stage, symbols);
    ASSERT_TRUE(slot.ok()) << slot.status().message();
    values_.push_back(value);
  }

  std::int64_t evaluate(const std::string& text) {
    const Result<Expression> expression = Expression::parse(text, scope_);
    EXPECT_TRUE(expression.ok()) << expression.status().message();
    if (!expression.ok()) return -999;
    const Result<std::int64_t> value = expression->evaluate(values_);
    EXPECT_TRUE(value.ok()) << value.status().message();
    return value.ok() ? *value : -999;
  }

  std::string parse_error(const std::string& text) {
    return Expression::parse(text, scope_).status().message();
  }
  std::string parse_error(const std::string& text, ValueType type) {
    return Expression::parse(text, scope_, type).status().message();
  }

  std::string evaluation_error(const std::string& text) {
    const Result<Expression> expression = Expression::parse(text, scope_);
    EXPECT_TRUE(expression.ok()) << expression.status().message();
    return expression.ok() ? expression->evaluate(values_).status().message() : "";
  }

  static constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
  Scope scope_;
  std::vector<std::int64_t> values_;
};

TEST_F(ExpressionTest, ArithmeticHasThePrecedencesOfC) {
  EXPECT_EQ(evaluate("1 + 2 * 3"), 7);
  EXPECT_EQ(evaluate("(1 + 2) * 3"), 9);
  EXPECT_EQ(evaluate("20 / 3 * 3 % 7"), 4);
  EXPECT_EQ(evaluate("10 - 4 - 3"), 3);
  EXPECT_EQ(evaluate("-7 / 2"), -3);
  EXPECT_EQ(evaluate("-7 % 2"), -1);
  EXPECT_EQ(evaluate("- -5"), 5);
  EXPECT_EQ(evaluate("2 * -3"), -6);
  EXPECT_EQ(evaluate("1 + 2 < 4 == true"), 1);
  EXPECT_EQ(evaluate("1 < 2 && 2 < 1 || true"), 1);
  EXPECT_EQ(evaluate("true || true && false"), 1);
  EXPECT_EQ(evaluate("!causal || 3 >= 3"), 1);
  EXPECT_EQ(evaluate("false || causal ? 1 : 2"), 1);
  EXPECT_EQ(evaluate("false ? 1 : false ? 2 : 3"), 3);
  EXPECT_EQ(evaluate("9223372036854775807"), kHigh);
}

TEST_F(ExpressionTest, Comparisons) {
  EXPECT_EQ(evaluate("3 != 4"), 1);
  EXPECT_EQ(evaluate("4 <= 3"), 0);
  EXPECT_EQ(evaluate("4 > 3"), 1);
  EXPECT_EQ(evaluate("causal == has(lse)"), 0);
  EXPECT_EQ(evaluate("LOAD == cp_async"), 1);
  EXPECT_EQ(evaluate("bulk != LOAD"), 1);
  EXPECT_EQ(evaluate("T == bf16"), 1);
  EXPECT_EQ(evaluate("W == T || W == f32"), 1);
  EXPECT_EQ(evaluate("(causal ? T : W) == bf16"), 1);
}

TEST_F(ExpressionTest, Functions) {
  EXPECT_EQ(evaluate("min(5, 3, 9, 4)"), 3);
  EXPECT_EQ(evaluate("max(5, 3, 9, 4)"), 9);
  EXPECT_EQ(evaluate("ceil_div(rows, 128)"), 8);
  EXPECT_EQ(evaluate("ceil_div(1024, 128)"), 8);
  EXPECT_EQ(evaluate("ceil_div(0, 7)"), 0);
  EXPECT_EQ(evaluate("ceil_div(-5, 4)"), -1);
  EXPECT_EQ(evaluate("ceil_div(high, 2)"), 4611686018427387904);
  EXPECT_EQ(evaluate("round_up(1000, 128)"), 1024);
  EXPECT_EQ(evaluate("round_up(-5, 4)"), -4);
  EXPECT_EQ(evaluate("gcd(12, 18)"), 6);
  EXPECT_EQ(evaluate("gcd(0, -7)"), 7);
  EXPECT_EQ(evaluate("gcd(0, 0)"), 0);
  EXPECT_EQ(evaluate("is_pow2(64)"), 1);
  EXPECT_EQ(evaluate("is_pow2(0)"), 0);
  EXPECT_EQ(evaluate("is_pow2(-64)"), 0);
  EXPECT_EQ(evaluate("is_pow2(96)"), 0);
  EXPECT_EQ(evaluate("sizeof(T)"), 2);
  EXPECT_EQ(evaluate("sizeof(f64)"), 8);
  EXPECT_EQ(evaluate("sizeof(causal ? W : T)"), 4);
  EXPECT_EQ(evaluate("has(lse) ? 1 : 0"), 0);
  EXPECT_EQ(evaluate("device.cc / 10"), 9);
}

TEST_F(ExpressionTest, OnlyTheTakenBranchIsEvaluated) {
  EXPECT_EQ(evaluate("zero == 0 || 1 / zero > 0"), 1);
  EXPECT_EQ(evaluate("zero != 0 && 1 / zero > 0"), 0);
  EXPECT_EQ(evaluate("zero == 0 ? 7 : 1 / zero"), 7);
  EXPECT_EQ(evaluate("zero != 0 ? 1 / zero : 7"), 7);
  EXPECT_EQ(evaluate("1 + (causal && (zero == 0 || 1 / zero == 1) ? 2 : 3) * 2"), 5);
}

TEST_F(ExpressionTest, StageIsTheLatestOfTheNames) {
  const auto stage = [this](const char* text) { return Expression::parse(text, scope_)->stage(); };
  EXPECT_EQ(stage("1 + 2"), Stage::compile);
  EXPECT_EQ(stage("hidden * VEC"), Stage::compile);
  EXPECT_EQ(stage("device.cc * build.blocks_per_sm"), Stage::load);
  EXPECT_EQ(stage("rows + build.blocks_per_sm"), Stage::launch);
}

TEST_F(ExpressionTest, SlotsAreSortedAndUnique) {
  const Result<Expression> expression = Expression::parse("rows + hidden * rows + VEC", scope_);
  ASSERT_TRUE(expression.ok());
  EXPECT_EQ(std::vector<int>(expression->slots().begin(), expression->slots().end()),
            (std::vector<int>{2, 3, 4}));
  EXPECT_EQ(expression->type(), ValueType::integer);
  EXPECT_EQ(expression->text(), "rows + hidden * rows + VEC");
}

TEST_F(ExpressionTest, Constants) {
  EXPECT_EQ(*Expression::integer(-3).evaluate({}), -3);
  EXPECT_EQ(Expression::integer(-3).text(), "-3");
  EXPECT_EQ(*Expression::boolean(true).evaluate({}), 1);
  EXPECT_EQ(Expression::boolean(true).type(), ValueType::boolean);
}

TEST_F(ExpressionTest, UnknownNamesPointAndSuggest) {
  EXPECT_EQ(parse_error("hiden % VEC == 0"),
            "unknown name 'hiden'; did you mean 'hidden'?\n"
            "  hiden % VEC == 0\n"
            "  ^~~~~");
  EXPECT_EQ(parse_error("1 + device.sm"),
            "unknown name 'device.sm'; did you mean 'device.cc'?\n"
            "  1 + device.sm\n"
            "      ^~~~~~~~~");
  EXPECT_EQ(parse_error("2 * x"),
            "'x' is a tensor\n"
            "  2 * x\n"
            "      ^");
  EXPECT_EQ(parse_error("has(y) || causal"),
            "'y' is not an optional tensor\n"
            "  has(y) || causal\n"
            "      ^");
  EXPECT_EQ(parse_error("(banana) == LOAD"),
            "unknown name 'banana'\n"
            "  (banana) == LOAD\n"
            "   ^~~~~~");
  EXPECT_EQ(parse_error("ceildiv(1, 2)"),
            "unknown function 'ceildiv'; did you mean 'ceil_div'?\n"
            "  ceildiv(1, 2)\n"
            "  ^~~~~~~");
}

TEST_F(ExpressionTest, SymbolsThatANameCanNeverBe) {
  EXPECT_EQ(parse_error("LOAD == cp_asinc"),
            "'LOAD' can never be 'cp_asinc'; it can be ldg, cp_async, bulk; did you mean "
            "'cp_async'?\n"
            "  LOAD == cp_asinc\n"
            "          ^~~~~~~~");
  EXPECT_EQ(parse_error("f64 != T"),
            "'T' can never be 'f64'; it can be f32, f16, bf16\n"
            "  f64 != T\n"
            "  ^~~");
  EXPECT_EQ(parse_error("LOAD == T"),
            "'LOAD' can never be 'T'; it can be ldg, cp_async, bulk\n"
            "  LOAD == T\n"
            "          ^");
}

TEST_F(ExpressionTest, TypesAreChecked) {
  EXPECT_EQ(parse_error("hidden && causal"),
            "expected boolean, got integer\n"
            "  hidden && causal\n"
            "  ^~~~~~");
  EXPECT_EQ(parse_error("1 + (2 < 3)"),
            "expected integer, got boolean\n"
            "  1 + (2 < 3)\n"
            "      ^~~~~~~");
  EXPECT_EQ(parse_error("1 < 2 < 3"),
            "expected integer, got boolean\n"
            "  1 < 2 < 3\n"
            "  ^~~~~");
  EXPECT_EQ(parse_error("causal ? 1 : false"),
            "expected integer, got boolean\n"
            "  causal ? 1 : false\n"
            "               ^~~~~");
  EXPECT_EQ(parse_error("rows + 1", ValueType::boolean),
            "expected boolean, got integer\n"
            "  rows + 1\n"
            "  ^~~~~~~~");
  EXPECT_EQ(parse_error("LOAD == 1"),
            "expected identifier, got integer\n"
            "  LOAD == 1\n"
            "          ^");
  EXPECT_EQ(parse_error("sizeof(LOAD)"),
            "sizeof takes a dtype\n"
            "  sizeof(LOAD)\n"
            "         ^~~~");
  EXPECT_EQ(parse_error("sizeof(hidden)"),
            "expected identifier, got integer\n"
            "  sizeof(hidden)\n"
            "         ^~~~~~");
  EXPECT_EQ(parse_error("-causal"),
            "expected integer, got boolean\n"
            "  -causal\n"
            "   ^~~~~~");
}

TEST_F(ExpressionTest, FloatingNumbersAndQuotedWordsAreComparedOnly) {
  Scope scope;
  const std::vector<std::string> scales = {"0.5", "2.0", "1e-05"}, types = {"float4", "float*"};
  ASSERT_TRUE(scope.declare("SCALE", ValueType::symbol, Stage::compile, scales).ok());
  ASSERT_TRUE(scope.declare("AS", ValueType::symbol, Stage::compile, types).ok());
  const std::int64_t half = *scope.find_symbol("0.5"), pointer = *scope.find_symbol("float*");
  const auto value = [&](const char* text) {
    return Expression::parse(text, scope).value().evaluate(std::array{half, pointer}).value();
  };
  EXPECT_EQ(value("SCALE == 0.5"), 1);
  EXPECT_EQ(value("SCALE == 5e-1"), 1);
  EXPECT_EQ(value("SCALE != 0.5 || SCALE == 2.0"), 0);
  EXPECT_EQ(value("SCALE == 0.00001"), 0);
  EXPECT_EQ(value("AS == 'float*'"), 1);
  EXPECT_EQ(value("AS == float4 || AS == 'float4'"), 0);
  const auto error = [&](const char* text) {
    return Expression::parse(text, scope).status().message();
  };
  EXPECT_EQ(error("SCALE == 0.25"),
            "'SCALE' can never be '0.25'; it can be 0.5, 2.0, 1e-05; did you mean '0.5'?\n"
            "  SCALE == 0.25\n"
            "           ^~~~");
  EXPECT_EQ(error("0.25 == 0.25"),
            "no parameter has the value 0.25\n"
            "  0.25 == 0.25\n"
            "  ^~~~");
  EXPECT_EQ(error("SCALE * 2 == 1"),
            "expected integer, got identifier\n"
            "  SCALE * 2 == 1\n"
            "  ^~~~~");
  EXPECT_EQ(error("AS == 'float"),
            "expected a value, got '''\n"
            "  AS == 'float\n"
            "        ^");
  EXPECT_EQ(error("1e999 == SCALE"),
            "the number is out of range\n"
            "  1e999 == SCALE\n"
            "  ^~~~~");
}

TEST_F(ExpressionTest, MalformedTextPointsAtThePlace) {
  EXPECT_EQ(parse_error(""), "an empty expression");
  EXPECT_EQ(parse_error(" \t "), "an empty expression");
  EXPECT_EQ(parse_error("1 +"),
            "a value is missing\n"
            "  1 +\n"
            "     ^");
  EXPECT_EQ(parse_error("1 + )"),
            "expected a value, got ')'\n"
            "  1 + )\n"
            "      ^");
  EXPECT_EQ(parse_error("(1 + 2"),
            "expected ')', got the end\n"
            "  (1 + 2\n"
            "        ^");
  EXPECT_EQ(parse_error("1 2"),
            "unexpected '2'\n"
            "  1 2\n"
            "    ^");
  EXPECT_EQ(parse_error("1024abc"),
            "unexpected 'abc'\n"
            "  1024abc\n"
            "      ^~~");
  EXPECT_EQ(parse_error("hidden = 3"),
            "unexpected '='\n"
            "  hidden = 3\n"
            "         ^");
  EXPECT_EQ(parse_error("causal ? 1"),
            "expected ':', got the end\n"
            "  causal ? 1\n"
            "            ^");
  EXPECT_EQ(parse_error("min(1)"),
            "min takes two or more values, got 1\n"
            "  min(1)\n"
            "  ^~~~~~");
  EXPECT_EQ(parse_error("ceil_div(1, 2, 3)"),
            "ceil_div takes two values, got 3\n"
            "  ceil_div(1, 2, 3)\n"
            "  ^~~~~~~~~~~~~~~~~");
  EXPECT_EQ(parse_error("has(1)"),
            "has() takes the name of an optional tensor\n"
            "  has(1)\n"
            "      ^");
  EXPECT_EQ(parse_error("9223372036854775808"),
            "the number does not fit into 64 bits\n"
            "  9223372036854775808\n"
            "  ^~~~~~~~~~~~~~~~~~~");
  // The caret counts characters, not bytes; a tab takes one column.
  EXPECT_EQ(parse_error("1\t+ é"),
            "expected a value, got 'é'\n"
            "  1 + é\n"
            "      ^");
}

TEST_F(ExpressionTest, FailingEvaluationsPointAtTheOperator) {
  EXPECT_EQ(evaluation_error("hidden / zero"),
            "division by zero\n"
            "  hidden / zero\n"
            "         ^");
  EXPECT_EQ(evaluation_error("1 + hidden % (VEC - 8)"),
            "division by zero\n"
            "  1 + hidden % (VEC - 8)\n"
            "             ^");
  EXPECT_EQ(evaluation_error("high * 2 - 1"),
            "integer overflow: 9223372036854775807 * 2\n"
            "  high * 2 - 1\n"
            "       ^");
  EXPECT_EQ(evaluation_error("1 + high"),
            "integer overflow: 1 + 9223372036854775807\n"
            "  1 + high\n"
            "    ^");
  EXPECT_EQ(evaluation_error("-low"),
            "integer overflow: -(-9223372036854775808)\n"
            "  -low\n"
            "  ^");
  EXPECT_EQ(evaluation_error("low / -1"),
            "integer overflow: -9223372036854775808 / -1\n"
            "  low / -1\n"
            "      ^");
  EXPECT_EQ(evaluation_error("low % -1"),
            "integer overflow: -9223372036854775808 % -1\n"
            "  low % -1\n"
            "      ^");
  EXPECT_EQ(evaluation_error("low - 1"),
            "integer overflow: -9223372036854775808 - 1\n"
            "  low - 1\n"
            "      ^");
  EXPECT_EQ(evaluation_error("ceil_div(hidden, zero)"),
            "division by zero\n"
            "  ceil_div(hidden, zero)\n"
            "  ^~~~~~~~");
  EXPECT_EQ(evaluation_error("round_up(hidden, -8)"),
            "round_up needs a positive divisor, got -8\n"
            "  round_up(hidden, -8)\n"
            "  ^~~~~~~~");
  EXPECT_EQ(evaluation_error("round_up(high, 4096)"),
            "integer overflow: round_up(9223372036854775807, 4096)\n"
            "  round_up(high, 4096)\n"
            "  ^~~~~~~~");
  EXPECT_EQ(evaluation_error("gcd(low, zero)"),
            "integer overflow: gcd(-9223372036854775808, 0)\n"
            "  gcd(low, zero)\n"
            "  ^~~");
}

TEST_F(ExpressionTest, NestingAndLengthAreBounded) {
  const auto nested = [](int levels) {
    return std::string(std::size_t(levels), '(') + "1" + std::string(std::size_t(levels), ')');
  };
  EXPECT_EQ(evaluate(nested(60)), 1);
  EXPECT_NE(parse_error(nested(70)).find("nested too deeply"), std::string::npos);
  EXPECT_NE(parse_error(nested(2000)).find("nested too deeply"), std::string::npos);
  EXPECT_NE(parse_error(std::string(3000, '-') + "1").find("nested too deeply"), std::string::npos);
  EXPECT_EQ(parse_error(std::string(5000, '1')),
            "an expression of 5000 bytes; at most 4096 are read");

  std::string sum = "1";
  for (int i = 0; i < 1000; ++i) sum += " + 1";
  EXPECT_EQ(evaluate(sum), 1001);

  // Every level leaves four values on the stack, which parsing has to bound.
  std::string deep = "1";
  for (int i = 0; i < 30; ++i) deep = "true || 1 == 1 + 1 * (" + deep + ") ? 1 : 2";
  EXPECT_NE(parse_error(deep).find("nested too deeply"), std::string::npos);
}

}  // namespace
}  // namespace mgtune

#include "expression/scope.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/dtype.h"

namespace mgtune {
namespace {

TEST(ScopeTest, SlotsCountUp) {
  Scope scope;
  EXPECT_EQ(*scope.declare("rows", ValueType::integer, Stage::launch), 0);
  EXPECT_EQ(*scope.declare("device.cc", ValueType::integer, Stage::compile), 1);
  EXPECT_EQ(scope.size(), 2U);
  ASSERT_NE(scope.find("device.cc"), nullptr);
  EXPECT_EQ(scope.find("device.cc")->slot, 1);
  EXPECT_EQ(scope.find("rows")->stage, Stage::launch);
  EXPECT_EQ(scope.find("row"), nullptr);
}

TEST(ScopeTest, ADTypesSymbolIsItsNumber) {
  const Scope scope;
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::u64,
                            DType::i32, DType::u32, DType::i8, DType::u8}) {
    const auto number = static_cast<std::int64_t>(dtype);
    EXPECT_EQ(scope.find_symbol(to_string(dtype)), number);
    EXPECT_EQ(scope.symbol_text(number), to_string(dtype));
    EXPECT_TRUE(is_dtype(number));
  }
}

TEST(ScopeTest, SymbolsAreInternedOnce) {
  Scope scope;
  const std::int64_t bulk = scope.intern("bulk");
  EXPECT_FALSE(is_dtype(bulk));
  EXPECT_EQ(scope.intern("bulk"), bulk);
  EXPECT_NE(scope.intern("ldg"), bulk);
  EXPECT_EQ(scope.find_symbol("cp_async"), std::nullopt);
}

TEST(ScopeTest, ANameMeansOneThing) {
  Scope scope;
  const std::vector<std::string> loads = {"ldg", "bulk"};
  ASSERT_TRUE(scope.declare("LOAD", ValueType::symbol, Stage::compile, loads).ok());
  const auto refusal = [&scope](const char* name, const std::vector<std::string>& symbols = {}) {
    return scope.declare(name, ValueType::symbol, Stage::compile, symbols).status().message();
  };
  EXPECT_EQ(refusal("LOAD"), "the name 'LOAD' is taken");
  EXPECT_EQ(refusal("min"), "'min' is a word of the expression language");
  EXPECT_EQ(refusal("bf16"), "'bf16' is a dtype or a parameter's value, not a free name");
  EXPECT_EQ(refusal("bulk"), "'bulk' is a dtype or a parameter's value, not a free name");
  EXPECT_EQ(refusal("MODE", {"LOAD"}), "'LOAD' cannot be a value: it means something else");
  EXPECT_EQ(refusal("MODE", {"MODE"}), "'MODE' cannot be a value: it means something else");
  EXPECT_EQ(refusal("MODE", {"true"}), "'true' cannot be a value: it means something else");
  EXPECT_EQ(scope.size(), 1U);
  EXPECT_EQ(*scope.declare("STORE", ValueType::symbol, Stage::compile, loads), 1);
}

TEST(ScopeTest, ARefusalEndsWithTheDeclaration) {
  Scope scope;
  scope.refuse("later", "'later' is defined further down");
  ASSERT_NE(scope.refusal("later"), nullptr);
  EXPECT_EQ(*scope.refusal("later"), "'later' is defined further down");
  ASSERT_TRUE(scope.declare("later", ValueType::integer, Stage::compile).ok());
  EXPECT_EQ(scope.refusal("later"), nullptr);
}

TEST(ScopeTest, ValuesAsPeopleWriteThem) {
  const Scope scope;
  EXPECT_EQ(scope.value_text(ValueType::integer, -4096), "-4096");
  EXPECT_EQ(scope.value_text(ValueType::boolean, 1), "true");
  EXPECT_EQ(scope.value_text(ValueType::boolean, 0), "false");
  EXPECT_EQ(scope.value_text(ValueType::symbol, static_cast<std::int64_t>(DType::bf16)), "bf16");
  EXPECT_EQ(to_string(Stage::load), "load");
  EXPECT_EQ(to_string(ValueType::symbol), "identifier");
}

}  // namespace
}  // namespace mgtune

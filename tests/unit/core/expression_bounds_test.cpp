// Expression::bounds() against evaluate(): random expressions over small ranges, value by value,
// and a few by hand.

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "expression/expression.h"

namespace mgtune {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

class ExpressionBounds : public testing::Test {
 protected:
  ExpressionBounds() {
    for (const char* name : {"a", "b", "c"}) {
      EXPECT_TRUE(scope_.declare(name, ValueType::integer, Stage::launch).ok());
    }
    EXPECT_TRUE(scope_
                    .declare("T", ValueType::symbol, Stage::compile,
                             std::vector<std::string>{"f32", "bf16"})
                    .ok());
  }

  Expression parsed(const std::string& text) const {
    auto expression = Expression::parse(text, scope_);
    EXPECT_TRUE(expression.ok()) << expression.status().message();
    return expression.ok() ? *std::move(expression) : Expression::integer(0);
  }

  Interval bounds(const std::string& text, const Interval& a, const Interval& b = {1, 1}) const {
    const auto f32 = Interval::only(static_cast<std::int64_t>(DType::f32));
    const std::vector<Interval> values = {a, b, Interval::only(0), f32};
    return parsed(text).bounds(values);
  }

  // Every value in the ranges lies within the bounds. Where each range has one value, nothing else.
  void expect_sound(const std::string& text, const std::vector<Interval>& ranges) const {
    const Expression expression = parsed(text);
    const Interval bounds = expression.bounds(ranges);
    std::vector<std::int64_t> values(ranges.size());
    std::vector<Interval> points(ranges.size());
    for (values[0] = ranges[0].low; values[0] <= ranges[0].high; ++values[0]) {
      for (values[1] = ranges[1].low; values[1] <= ranges[1].high; ++values[1]) {
        for (values[2] = ranges[2].low; values[2] <= ranges[2].high; ++values[2]) {
          values[3] = ranges[3].low;
          const auto value = expression.evaluate(values);
          if (!value.ok()) continue;
          ASSERT_TRUE(bounds.contains(*value))
              << text << " is " << *value << " at a=" << values[0] << " b=" << values[1]
              << " c=" << values[2] << ", outside of " << bounds.low << " to " << bounds.high;
          for (std::size_t i = 0; i < points.size(); ++i) points[i] = Interval::only(values[i]);
          ASSERT_EQ(expression.bounds(points), Interval::only(*value)) << text;
        }
      }
    }
  }

  Scope scope_;
};

// Texts of the whole language, of at most `depth` levels.
class RandomText {
 public:
  explicit RandomText(std::uint32_t seed) : random_(seed) {}

  std::string integer(int depth) {
    if (depth == 0) return pick({"a", "b", "c", "a", "b", "c", "0", "1", "2", "3", "7", "64"});
    const auto sub = [&] { return "(" + integer(depth - 1) + ")"; };
    const auto call = [&](const std::string& name) {
      return name + "(" + integer(depth - 1) + ", " + integer(depth - 1) + ")";
    };
    switch (number(9)) {
      case 0:
        return sub() + pick({" + ", " - ", " * ", " / ", " % "}) + sub();
      case 1:
        return "-" + sub();
      case 2:
        return "(" + boolean(depth - 1) + " ? " + integer(depth - 1) + " : " + integer(depth - 1) +
               ")";
      case 3:
        return sub() + " * sizeof(" + pick({"T", "f16"}) + ")";
      case 4:
        return sub() + pick({" * ", " / "}) + sub();
      default:
        return call(pick({"min", "max", "gcd", "ceil_div", "round_up"}));
    }
  }

  std::string boolean(int depth) {
    if (depth == 0) return pick({"true", "false", "a > 2", "b == c", "is_pow2(a)"});
    switch (number(4)) {
      case 0:
        return "(" + boolean(depth - 1) + pick({" && ", " || "}) + boolean(depth - 1) + ")";
      case 1:
        return "!(" + boolean(depth - 1) + ")";
      case 2:
        return "is_pow2(" + integer(depth - 1) + ")";
      default:
        return "(" + integer(depth - 1) + pick({" == ", " != ", " < ", " <= ", " > ", " >= "}) +
               integer(depth - 1) + ")";
    }
  }

  Interval range() {
    const std::int64_t low = static_cast<std::int64_t>(number(9)) - 4;
    return {low, low + static_cast<std::int64_t>(number(5))};
  }

 private:
  std::size_t number(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
  }
  std::string pick(const std::vector<std::string>& from) { return from[number(from.size())]; }

  std::mt19937 random_;
};

TEST_F(ExpressionBounds, HoldForRandomExpressions) {
  const auto f32 = Interval::only(static_cast<std::int64_t>(DType::f32));
  for (std::uint32_t seed = 0; seed < 4000; ++seed) {
    RandomText random(seed);
    const std::vector<Interval> ranges = {random.range(), random.range(), random.range(), f32};
    const int depth = 1 + static_cast<int>(seed % 4);
    expect_sound(seed % 5 == 0 ? random.boolean(depth) : random.integer(depth), ranges);
    if (HasFatalFailure()) return;
  }
}

TEST_F(ExpressionBounds, AreTightWhereAValueOccursOnce) {
  EXPECT_EQ(bounds("a + 3", {1, 10}), (Interval{4, 13}));
  EXPECT_EQ(bounds("a * b", {-3, 10}, {-2, 5}), (Interval{-20, 50}));
  EXPECT_EQ(bounds("1000 / max(a, 1)", {0, 10}), (Interval{100, 1000}));
  EXPECT_EQ(bounds("a / b", {-7, 7}, {-2, 3}), (Interval{-7, 7}));
  EXPECT_EQ(bounds("ceil_div(a, 32)", {1, 65}), (Interval{1, 3}));
  EXPECT_EQ(bounds("round_up(a, 32)", {1, 65}), (Interval{32, 96}));
  EXPECT_EQ(bounds("a % 8", {17, 22}), (Interval{1, 6}));
  EXPECT_EQ(bounds("a % 8", {17, 30}), (Interval{0, 7}));
  EXPECT_EQ(bounds("gcd(a, 12)", {1, 100}), (Interval{1, 12}));
  EXPECT_EQ(bounds("a > 5 ? 10 : 20", {6, 9}), Interval::only(10));
  EXPECT_EQ(bounds("a > 5 ? 10 : 20", {5, 9}), (Interval{10, 20}));
  EXPECT_EQ(bounds("a > 5 && b > 1", {1, 5}), Interval::only(0));
  EXPECT_EQ(bounds("a > 0 || b / 0 == 1", {1, 5}), Interval::only(1));
  EXPECT_EQ(bounds("is_pow2(a)", {5, 7}), Interval::only(0));
  EXPECT_EQ(bounds("sizeof(T)", {1, 1}), Interval::only(4));
}

// Overflows and divisions by zero have no value, so they do not widen the bounds.
TEST_F(ExpressionBounds, LeaveOutWhatFails) {
  EXPECT_EQ(bounds("a / b", {10, 10}, {0, 5}), (Interval{2, 10}));
  EXPECT_TRUE(bounds("a / b", {1, 10}, {0, 0}).is_empty());
  EXPECT_TRUE(bounds("a % b", {1, 10}, {0, 0}).is_empty());
  EXPECT_TRUE(bounds("ceil_div(a, b)", {1, 10}, {-3, 0}).is_empty());
  EXPECT_TRUE(bounds("a * a", {kLargest / 2, kLargest}).is_empty());
  EXPECT_EQ(bounds("a + 1", {1, kLargest}), (Interval{2, kLargest}));
  EXPECT_TRUE(bounds("a + 1", {kLargest, kLargest}).is_empty());
  EXPECT_TRUE(bounds("-a", {kLeast, kLeast}).is_empty());
  EXPECT_TRUE(bounds("a / b", {kLeast, kLeast}, {-1, -1}).is_empty());
  EXPECT_EQ(bounds("b > 0 ? a / b : 7", {10, 10}, {0, 0}), Interval::only(7));
}

}  // namespace
}  // namespace mgtune

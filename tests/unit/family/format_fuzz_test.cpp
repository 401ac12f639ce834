// Hostile text through the parsers of the operator format: no crash, no hang, and every failure is
// an invalid_argument with a message. Seeded, so that a failure repeats.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "expression/expression.h"
#include "tests/helpers/operators/golden_operators.h"

namespace mgtune {
namespace {

constexpr std::array<std::string_view, 48> kWords = {"rows",
                                                     "hidden",
                                                     "VEC",
                                                     "T",
                                                     "LOAD",
                                                     "bulk",
                                                     "causal",
                                                     "has(lse)",
                                                     "has(",
                                                     "device.cc",
                                                     "build.x",
                                                     "min",
                                                     "max(",
                                                     "ceil_div",
                                                     "round_up(",
                                                     "gcd",
                                                     "is_pow2(",
                                                     "sizeof(",
                                                     "true",
                                                     "(",
                                                     ")",
                                                     ",",
                                                     "?",
                                                     ":",
                                                     "+",
                                                     "-",
                                                     "*",
                                                     "/",
                                                     "%",
                                                     "==",
                                                     "!=",
                                                     "<",
                                                     "<=",
                                                     ">",
                                                     ">=",
                                                     "&&",
                                                     "||",
                                                     "!",
                                                     "0",
                                                     "1",
                                                     "-1",
                                                     "9223372036854775807",
                                                     "99999999999999999999",
                                                     ".",
                                                     "\xff",
                                                     "\n",
                                                     "=",
                                                     "é"};

Scope small_scope() {
  Scope scope;
  const std::vector<std::string> loads = {"ldg", "bulk"}, dtypes = {"f32", "bf16"};
  for (const char* name : {"device.cc", "rows", "hidden", "VEC"}) {
    EXPECT_TRUE(scope.declare(name, ValueType::integer, Stage::compile).ok());
  }
  for (const char* name : {"causal", "has(lse)"}) {
    EXPECT_TRUE(scope.declare(name, ValueType::boolean, Stage::compile).ok());
  }
  EXPECT_TRUE(scope.declare("T", ValueType::symbol, Stage::compile, dtypes).ok());
  EXPECT_TRUE(scope.declare("LOAD", ValueType::symbol, Stage::compile, loads).ok());
  return scope;
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(engine_() % bound); }

 private:
  std::mt19937_64 engine_;
};

// A word soup, of which now and then a text parses.
std::string random_expression(Random& random) {
  std::string text;
  const std::size_t words = 1 + random.below(16);
  for (std::size_t i = 0; i < words; ++i) {
    text += kWords[random.below(kWords.size())];
    if (random.below(2) == 0) text += ' ';
  }
  return text;
}

// Removes, repeats, swaps or overwrites some bytes.
void mutate(std::string& text, Random& random) {
  const std::size_t place = random.below(text.size());
  const std::size_t length = std::min(text.size() - place, 1 + random.below(12));
  switch (random.below(4)) {
    case 0:
      text.erase(place, length);
      break;
    case 1:
      text.insert(random.below(text.size()), std::string(text, place, length));
      break;
    case 2:
      text.replace(place, length, kWords[random.below(kWords.size())]);
      break;
    default:
      text[place] = static_cast<char>(random.below(256));
  }
  if (text.empty()) text.push_back('{');
}

void check_expression(const std::string& text, const Scope& scope) {
  const Result<Expression> expression = Expression::parse(text, scope);
  if (!expression.ok()) {
    EXPECT_EQ(expression.status().code(), StatusCode::invalid_argument) << text;
    EXPECT_FALSE(expression.status().message().empty()) << text;
    return;
  }
  std::vector<std::int64_t> values(scope.size(), 0);
  const Result<std::int64_t> value = expression->evaluate(values);
  EXPECT_TRUE(value.ok() || value.status().code() == StatusCode::invalid_argument) << text;
}

TEST(FormatFuzzTest, RandomWords) {
  const Scope scope = small_scope();
  Random random(1);
  for (int i = 0; i < 10000; ++i) check_expression(random_expression(random), scope);
}

TEST(FormatFuzzTest, MutatedExpressions) {
  const Scope scope = small_scope();
  Random random(2);
  for (int i = 0; i < 6000; ++i) {
    std::string text =
        "LOAD == bulk && has(lse) ? max(1, min(ceil_div(rows, VEC), hidden / max(VEC, 1))) : "
        "round_up(rows * sizeof(T), 16) % 7";
    for (std::size_t edits = 1 + random.below(4); edits > 0; --edits) mutate(text, random);
    check_expression(text, scope);
  }
}

TEST(FormatFuzzTest, MutatedExtensions) {
  constexpr const char* kExtension = R"({"extends": "base.json", "dims": {"x_stride": null,
    "stride": {"kind": "dynamic", "default": "hidden"}}, "tensors": {"x": {"strides": null}},
    "designs": {"row": {"params": {"VEC": [1, 2]}, "constraints": null}}})";
  const std::string base = golden_text("rmsnorm.forward");
  Random random(4);
  for (int i = 0; i < 2000; ++i) {
    std::string text = kExtension;
    for (std::size_t edits = 1 + random.below(4); edits > 0; --edits) mutate(text, random);
    auto sources = std::make_shared<SourceTree>();
    sources->folder = "kernels/rmsnorm";
    sources->files = {{"base.json", base}, {"forward.json", text}};
    const Status status = decode_operator("rmsnorm", "forward", std::move(sources)).status();
    if (status.ok()) continue;
    EXPECT_EQ(status.code(), StatusCode::invalid_argument) << text;
    EXPECT_TRUE(status.message().starts_with("kernels/rmsnorm/")) << text;
  }
}

TEST(FormatFuzzTest, MutatedOperatorFiles) {
  const std::string forward = golden_text("rmsnorm.forward");
  const std::string backward = golden_text("rmsnorm.backward");
  Random random(3);
  for (int i = 0; i < 4000; ++i) {
    std::string text = i % 8 == 0 ? backward : forward;
    for (std::size_t edits = 1 + random.below(4); edits > 0; --edits) mutate(text, random);
    const Status status = decode_text("rmsnorm.forward", text).status();
    if (status.ok()) continue;
    EXPECT_EQ(status.code(), StatusCode::invalid_argument) << text;
    EXPECT_TRUE(status.message().starts_with("kernels/rmsnorm/forward.json: ")) << text;
  }
}

}  // namespace
}  // namespace mgtune

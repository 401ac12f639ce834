#include "family/problem.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/helpers/operators/golden_operators.h"

namespace mgtune {
namespace {

using Words = std::map<std::string, std::string>;

const Operator& rmsnorm() {
  static const Operator op = golden_operator("rmsnorm.forward");
  return op;
}

const Operator& decode() {
  static const Operator op = golden_operator("attention.decode");
  return op;
}

const Words kDecodeWords = {{"batch", "4"}, {"q_len", "1"},      {"kv_len", "1000"},
                            {"heads", "8"}, {"kv_heads", "2"},   {"head_dim", "128"},
                            {"T", "f16"},   {"page_size", "16"}, {"pages", "99"}};

std::string bind_error(const Operator& op, Words words, const Words& changes) {
  for (const auto& [name, value] : changes) words[name] = value;
  return bind_problem(op, words).status().message();
}

TEST(ProblemTest, DefaultsFillMissingDims) {
  const Result<Problem> problem =
      bind_problem(rmsnorm(), {{"rows", "12"}, {"hidden", "4096"}, {"T", "bf16"}});
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  EXPECT_EQ(problem->dim("rows"), 12);
  EXPECT_EQ(problem->dim("x_stride"), 4096);
  EXPECT_EQ(problem->text(), "rows=12 hidden=4096 T=bf16");
  EXPECT_EQ(problem->binding().text(), "hidden=4096 T=bf16");

  const Result<Problem> pages = bind_problem(decode(), kDecodeWords);
  ASSERT_TRUE(pages.ok()) << pages.status().message();
  EXPECT_EQ(pages->dim("max_pages"), 63);
}

TEST(ProblemTest, TextLeavesOutWhatSaysNothing) {
  Words words = {
      {"rows", "12"}, {"hidden", "64"}, {"T", "f32"}, {"x_stride", "64"}, {"rstd", "false"}};
  EXPECT_EQ(bind_problem(rmsnorm(), words)->text(), "rows=12 hidden=64 T=f32");
  words["x_stride"] = "128";
  words["rstd"] = "true";
  EXPECT_EQ(bind_problem(rmsnorm(), words)->text(),
            "rows=12 hidden=64 x_stride=128 T=f32 rstd=true");

  words = kDecodeWords;
  words["lse"] = "true";
  words["paged"] = "true";
  words["max_pages"] = "64";
  EXPECT_EQ(bind_problem(decode(), words)->text(),
            "batch=4 q_len=1 kv_len=1000 heads=8 kv_heads=2 head_dim=128 page_size=16 pages=99 "
            "max_pages=64 T=f16 paged=true lse=true");
}

TEST(ProblemTest, TextBindsToTheSameProblem) {
  Words words = kDecodeWords;
  words["paged"] = "true";
  const Result<Problem> problem = bind_problem(decode(), words);
  ASSERT_TRUE(problem.ok());
  const Result<Words> again = parse_assignments(problem->text());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(bind_problem(decode(), *again)->slots, problem->slots);
}

TEST(ProblemTest, BindingForgetsDimsOfTheLaunch) {
  const Result<Problem> problem = bind_problem(decode(), kDecodeWords);
  const Binding binding = problem->binding();
  for (const Dim& dim : decode().dims) {
    const auto slot = static_cast<std::size_t>(dim.slot);
    EXPECT_EQ(binding.slots[slot], dim.kind == DimKind::fixed ? problem->slots[slot] : 0);
  }
}

TEST(ProblemTest, RefusalsNameTheWord) {
  const Words good = {{"rows", "12"}, {"hidden", "64"}, {"T", "f32"}};
  EXPECT_EQ(bind_error(rmsnorm(), good, {{"hiden", "3"}}),
            "unknown name 'hiden': rmsnorm.forward takes rows hidden x_stride T rstd; did you mean "
            "'hidden'?");
  EXPECT_EQ(bind_error(rmsnorm(), good, {{"eps", "3"}}),
            "unknown name 'eps': rmsnorm.forward takes rows hidden x_stride T rstd");
  EXPECT_EQ(bind_error(rmsnorm(), {{"rows", "12"}, {"T", "f32"}}, {}),
            "rmsnorm.forward needs `hidden`: add it to the problem, for example hidden=4096");
  EXPECT_EQ(bind_error(rmsnorm(), {{"rows", "1"}, {"hidden", "64"}}, {}),
            "rmsnorm.forward needs `T`: add it to the problem, for example T=f32; it can be f32, "
            "f16, bf16");
  EXPECT_EQ(bind_error(rmsnorm(), good, {{"rows", "-1"}}), "rows: -1 is negative");
  EXPECT_EQ(bind_error(rmsnorm(), good, {{"rows", "4k"}}), "rows: '4k' is not a 64-bit integer");
  EXPECT_EQ(bind_error(rmsnorm(), good, {{"rows", ""}}), "rows: '' is not a 64-bit integer");
  EXPECT_EQ(bind_error(rmsnorm(), good, {{"rows", "9223372036854775808"}}),
            "rows: '9223372036854775808' is not a 64-bit integer");
  EXPECT_EQ(bind_error(rmsnorm(), good, {{"T", "f64"}}),
            "T: 'f64' is not offered; it can be f32, f16, bf16");
  EXPECT_EQ(bind_error(rmsnorm(), good, {{"rstd", "yes"}}),
            "rstd: 'yes' is neither true nor false");
  EXPECT_TRUE(bind_problem(rmsnorm(), {{"rows", "0"}, {"hidden", "64"}, {"T", "f32"}}).ok());
}

TEST(ProblemTest, ConstraintsOfTheOperatorHold) {
  EXPECT_EQ(bind_error(decode(), kDecodeWords, {{"kv_heads", "3"}}),
            "'heads % kv_heads == 0' does not hold for heads=8 kv_heads=3");
  EXPECT_EQ(bind_error(decode(), kDecodeWords, {{"kv_heads", "0"}}),
            "kernels/attention/decode.json: /constraints/0: division by zero\n"
            "  heads % kv_heads == 0\n"
            "        ^");
  EXPECT_EQ(bind_error(decode(), kDecodeWords, {{"paged", "true"}, {"page_size", "24"}}),
            "'!paged || is_pow2(page_size)' does not hold for paged=true page_size=24");
  EXPECT_EQ(bind_error(decode(), kDecodeWords, {{"page_size", "0"}}),
            "kernels/attention/decode.json: /dims/max_pages/default: division by zero\n"
            "  ceil_div(kv_len, page_size)\n"
            "  ^~~~~~~~");
}

TEST(ProblemTest, OnlyWhatIsCompiledInBindsStatically) {
  const Result<Binding> binding = bind_static(rmsnorm(), {{"hidden", "64"}, {"T", "f16"}});
  ASSERT_TRUE(binding.ok()) << binding.status().message();
  EXPECT_EQ(binding->text(), "hidden=64 T=f16");
  EXPECT_EQ(
      bind_static(rmsnorm(), {{"rows", "1"}, {"hidden", "64"}, {"T", "f16"}}).status().message(),
      "rows is a dim of each launch, not of what is compiled in");
  EXPECT_EQ(bind_static(rmsnorm(), {{"T", "f16"}}).status().message(),
            "rmsnorm.forward needs `hidden`: add it to the problem, for example hidden=4096");
  EXPECT_EQ(bind_static(decode(),
                        {{"head_dim", "64"}, {"page_size", "24"}, {"T", "f16"}, {"paged", "true"}})
                .status()
                .message(),
            "'!paged || is_pow2(page_size)' does not hold for paged=true page_size=24");
}

TEST(ProblemTest, CompletingSetsTheDimsOfALaunch) {
  const Result<Binding> binding = bind_static(rmsnorm(), {{"hidden", "64"}, {"T", "f16"}});
  ASSERT_TRUE(binding.ok());
  EXPECT_EQ(complete(*binding, {{"rows", 7}})->text(), "rows=7 hidden=64 T=f16");
  EXPECT_EQ(complete(*binding, {{"rows", 7}, {"x_stride", 80}})->text(),
            "rows=7 hidden=64 x_stride=80 T=f16");
  const auto error = [&binding](const std::map<std::string, std::int64_t>& dims) {
    return complete(*binding, dims).status().message();
  };
  EXPECT_EQ(error({}),
            "rmsnorm.forward needs `rows`: add it to the problem, for example rows=4096");
  EXPECT_EQ(error({{"rows", -7}}), "rows: -7 is negative");
  EXPECT_EQ(error({{"rows", 7}, {"hidden", 64}}), "hidden is compiled in; a launch cannot set it");
  EXPECT_EQ(error({{"row", 7}}), "unknown dim 'row'; did you mean 'rows'?");
  const Result<Binding> attention =
      bind_static(decode(), {{"head_dim", "64"}, {"page_size", "16"}, {"T", "f16"}});
  ASSERT_TRUE(attention.ok());
  EXPECT_EQ(
      complete(
          *attention,
          {{"batch", 1}, {"q_len", 17}, {"kv_len", 5}, {"heads", 4}, {"kv_heads", 2}, {"pages", 1}})
          .status()
          .message(),
      "'q_len <= 16' does not hold for q_len=17");
}

TEST(ProblemTest, Assignments) {
  EXPECT_EQ(*parse_assignments("rows=4096,hidden=64"), (Words{{"rows", "4096"}, {"hidden", "64"}}));
  EXPECT_EQ(*parse_assignments(" rows=1  T=bf16, "), (Words{{"rows", "1"}, {"T", "bf16"}}));
  EXPECT_EQ(*parse_assignments(""), Words{});
  EXPECT_EQ(*parse_assignments("a=b=c"), (Words{{"a", "b=c"}}));
  EXPECT_EQ(parse_assignments("rows").status().message(), "'rows' is not of the form name=value");
  EXPECT_EQ(parse_assignments("rows=").status().message(), "'rows=' is not of the form name=value");
  EXPECT_EQ(parse_assignments("=3").status().message(), "'=3' is not of the form name=value");
  EXPECT_EQ(parse_assignments("a=1 a=2").status().message(), "a is given twice");
}

}  // namespace
}  // namespace mgtune

#include "selection/variant_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/registry.h"
#include "tests/helpers/operators/toy_operators.h"

namespace mgtune {
namespace {

using testing::ElementsAre;

class SelectionTest : public testing::Test {
 protected:
  SelectionTest() {
    near_.name = "Fake H100";
    far_.name = "Fake L4";
    far_.arch = "sm_89";
    far_.limits = {89, 58, 101376, 50331648};
    cpu_.kind = DeviceKind::cpu;
    cpu_.name = cpu_.arch = "cpu";
  }

  Problem problem(const std::string& words) const {
    const auto parsed = parse_assignments(words);
    Result<Problem> bound = bind_problem(op_, *parsed);
    EXPECT_TRUE(bound.ok()) << bound.status().message();
    return std::move(bound).value();
  }

  TunedEntry entry(const std::string& words, const std::string& variant,
                   const DeviceInfo& device) const {
    return tuned_entry(op_, words, variant, device);
  }

  std::vector<std::string> chosen(const std::string& words, const std::vector<TunedEntry>& tuned,
                                  const DeviceInfo& device) const {
    std::vector<std::string> lines;
    for (const SelectedVariant& candidate : select_variants(problem(words), device, tuned)) {
      lines.push_back(std::string(to_string(candidate.step)) + ": " +
                      variant_text(op_, candidate.variant));
    }
    return lines;
  }

  const Operator op_ = toy_norm();
  const DeviceInfo here_ = FakeDevice().device_info;
  DeviceInfo near_ = here_, far_ = here_, cpu_ = here_;
};

TEST_F(SelectionTest, EndsWithTheWholeLadder) {
  const std::vector<SelectedVariant> candidates =
      select_variants(problem("rows=8,hidden=64,T=f32"), here_, {});
  ASSERT_EQ(candidates.size(), 3U);
  EXPECT_EQ(variant_text(op_, candidates[0].variant), "row THREADS=128 VEC=4");
  EXPECT_EQ(candidates[0].step, SelectionStep::default_ladder);
  EXPECT_EQ(candidates[0].reason, "a default of the operator");
  EXPECT_EQ(candidates[0].expected_ns, 0);
  EXPECT_THAT(chosen("rows=8,hidden=63,T=f32", {}, here_),
              ElementsAre("default ladder: row THREADS=32 VEC=1"));
}

TEST_F(SelectionTest, TakesTheExactProblemThenThoseThatAreNearEnough) {
  const std::vector<TunedEntry> tuned = {
      entry("rows=160,hidden=64,T=f32", "row THREADS=64 VEC=4", here_),
      entry("rows=100,hidden=64,T=f32", "row THREADS=256 VEC=4", here_),
      entry("rows=16,hidden=64,T=f32", "row THREADS=256 VEC=1", here_),
      entry("rows=128,hidden=64,T=f32", "row THREADS=32 VEC=2", here_)};
  EXPECT_THAT(
      chosen("rows=128,hidden=64,T=f32", tuned, here_),
      ElementsAre("exact problem: row THREADS=32 VEC=2", "near problem: row THREADS=64 VEC=4",
                  "near problem: row THREADS=256 VEC=4", "default ladder: row THREADS=128 VEC=4",
                  "default ladder: row THREADS=64 VEC=2", "default ladder: row THREADS=32 VEC=1"));
  const SelectedVariant best =
      select_variants(problem("rows=126,hidden=64,T=f32"), here_, tuned).front();
  EXPECT_EQ(best.reason, "tuned for rows=128 hidden=64 T=f32 on Fake H200");
  EXPECT_EQ(best.expected_ns, 1000);
}

TEST_F(SelectionTest, NearMeansAtMostOneAndAHalfTimesInEveryDim) {
  const std::vector<TunedEntry> tuned = {
      entry("rows=100,hidden=64,T=f32", "row THREADS=64 VEC=4", here_)};
  const auto first = [&](const std::string& words) { return chosen(words, tuned, here_).front(); };
  const std::string near = "near problem: row THREADS=64 VEC=4";
  EXPECT_EQ(first("rows=150,hidden=64,T=f32"), near);
  EXPECT_EQ(first("rows=67,hidden=64,T=f32"), near);
  EXPECT_EQ(first("rows=100,hidden=64,T=f32,x_stride=6400"), near) << "a stride does not count";
  for (const char* far :
       {"rows=151,hidden=64,T=f32", "rows=66,hidden=64,T=f32", "rows=100,hidden=68,T=f32"}) {
    EXPECT_EQ(first(far), "default ladder: row THREADS=128 VEC=4") << far;
  }
}

TEST_F(SelectionTest, LeavesOutVariantsThatDoNotServeTheProblem) {
  const std::vector<TunedEntry> tuned = {
      entry("rows=100,hidden=66,T=f32,x_stride=68", "row THREADS=64 VEC=2", here_)};
  EXPECT_EQ(chosen("rows=100,hidden=66,T=f32,x_stride=67", tuned, here_).front(),
            "default ladder: row THREADS=32 VEC=1");
}

TEST_F(SelectionTest, RulesServeWhatNoTunedProblemIsNear) {
  Evidence evidence = toy_evidence(op_, here_);
  evidence.tuned = {entry("rows=100,hidden=64,T=f32", "row THREADS=32 VEC=4", here_)};
  const auto first = [&](const std::string& words) {
    const SelectedVariant one = select_variants(problem(words), here_, evidence).front();
    return std::string(to_string(one.step)) + ": " + variant_text(op_, one.variant);
  };
  EXPECT_EQ(first("rows=100,hidden=64,T=f32"), "exact problem: row THREADS=32 VEC=4");
  EXPECT_EQ(first("rows=120,hidden=64,T=f32"), "near problem: row THREADS=32 VEC=4");
  EXPECT_EQ(first("rows=1000,hidden=64,T=f32"), "rules: row THREADS=64 VEC=4");
  EXPECT_EQ(first("rows=1100,hidden=64,T=f32"), "rules: row THREADS=256 VEC=4");
  EXPECT_EQ(first("rows=1000,hidden=66,T=f32"), "rules: row THREADS=256 VEC=2")
      << "the second of the ranking, because 66 is not a multiple of 4";
  EXPECT_EQ(first("rows=1000,hidden=65,T=f32"), "default ladder: row THREADS=32 VEC=1");
}

TEST_F(SelectionTest, WhatFailedHereIsPassedOver) {
  Evidence evidence = toy_evidence(op_, here_);
  evidence.tuned = {entry("rows=100,hidden=64,T=f32", "row THREADS=32 VEC=4", here_)};
  for (const char* failed :
       {"row THREADS=32 VEC=4", "row VEC=4 THREADS=64", "row THREADS=128 VEC=4"}) {
    evidence.failed.add(gpu_record(here_), op_.full_name(), failed, Outcome::wrong);
  }
  evidence.failed.add(gpu_record(far_), op_.full_name(), "row THREADS=64 VEC=2", Outcome::crashed);
  evidence.failed.add(gpu_record(here_), op_.full_name(), "row THREADS=32 VEC=1",
                      Outcome::compile_failed);
  std::vector<std::string> texts;
  for (const SelectedVariant& one :
       select_variants(problem("rows=100,hidden=64,T=f32"), here_, evidence)) {
    texts.push_back(variant_text(op_, one.variant));
  }
  EXPECT_THAT(texts,
              ElementsAre("row THREADS=256 VEC=2", "row THREADS=64 VEC=2", "row THREADS=32 VEC=1"));
}

TEST_F(SelectionTest, RulesOfTheMostSimilarGpuUseTheFiguresOfThisOne) {
  Evidence evidence;
  evidence.rules = {toy_rules(op_, far_), toy_rules(op_, near_)};
  DeviceInfo small = here_;
  small.name = "Fake half of an H200";
  small.limits.l2_bytes /= 2;
  small.limits.sm_count /= 2;
  const auto first = [&](const DeviceInfo& device) {
    return select_variants(problem("rows=1000,hidden=64,T=f32"), device, evidence).front();
  };
  EXPECT_EQ(first(here_).step, SelectionStep::rules_of_other_gpu);
  EXPECT_EQ(first(here_).reason, "rules of Fake H100, fitted to 40 problems");
  EXPECT_EQ(variant_text(op_, first(here_).variant), "row THREADS=64 VEC=4");
  EXPECT_EQ(variant_text(op_, first(small).variant), "row THREADS=256 VEC=4");
  EXPECT_EQ(first(cpu_).step, SelectionStep::default_ladder) << "nobody emulated it";
  evidence.rules.push_back(toy_rules(op_, here_));
  EXPECT_EQ(first(here_).step, SelectionStep::rules);
}

TEST_F(SelectionTest, ExplainsTheWayThroughTheTree) {
  const std::shared_ptr<const Rules> rules = toy_rules(op_, here_);
  const Problem at = problem("rows=1000,hidden=64,T=f32");
  EXPECT_THAT(
      rules_lines(*rules, at, here_),
      ElementsAre("rule      120 * bytes <= device.l2_bytes (61440000 against 62914560): yes",
                  "loss      0.2 % in the median and 2.0 % at worst, at the 25 problems of "
                  "this rule; for each of them, rules were fitted to the other problems"));
  EXPECT_EQ(
      improvement_text(SelectionStep::rules, at, rules.get(), here_),
      "sweep this problem: mgtune sweep toy.norm --problem 'rows=1000 hidden=64 T=f32' (up to "
      "2.0 % expected, by the problems of this rule)");
  EXPECT_EQ(improvement_text(SelectionStep::exact, at, rules.get(), here_), "");
}

TEST_F(SelectionTest, RulesMayLeaveTheChoiceToTheLadder) {
  Rules rules = *toy_rules(op_, here_);
  for (RuleNode& node : rules.nodes) node.ranking.clear();
  Evidence evidence;
  evidence.rules = {std::make_shared<const Rules>(std::move(rules))};
  const Problem at = problem("rows=1000,hidden=64,T=f32");
  const SelectedVariant first = select_variants(at, here_, evidence).front();
  EXPECT_EQ(first.step, SelectionStep::default_ladder);
  EXPECT_EQ(first.reason, "a default of the operator, to which rules of " + here_.name +
                              ", fitted to 40 problems, leave the choice");
  EXPECT_EQ(variant_text(op_, first.variant), "row THREADS=128 VEC=4");
  EXPECT_TRUE(leave_it_to_the_ladder(*evidence.rules.front(), at, here_));
  EXPECT_FALSE(leave_it_to_the_ladder(*toy_rules(op_, here_), at, here_));
  EXPECT_THAT(rules_lines(*evidence.rules.front(), at, here_),
              ElementsAre(HasSubstr("rule  "),
                          "ladder    this rule leaves the choice to the default ladder",
                          HasSubstr("loss  ")));
}

// Nothing is known about the loss on another GPU, whose ladder is another one.
TEST_F(SelectionTest, SaysThatNoVariantOfARuleCanServe) {
  const std::shared_ptr<const Rules> rules = toy_rules(op_, here_);
  const Problem odd = problem("rows=1000,hidden=67,T=f32");  // no vectors
  Evidence evidence;
  evidence.rules = {rules};
  EXPECT_EQ(select_variants(odd, here_, evidence).front().step, SelectionStep::default_ladder);
  EXPECT_TRUE(leave_it_to_the_ladder(*rules, odd, here_));
  const auto says_so = HasSubstr("ladder    no variant of this rule can serve the problem on ");
  EXPECT_THAT(rules_lines(*rules, odd, here_),
              ElementsAre(HasSubstr("rule  "), says_so, HasSubstr("loss  ")));
  EXPECT_THAT(rules_lines(*rules, odd, near_), ElementsAre(HasSubstr("rule  "), says_so));
}

TEST_F(SelectionTest, CountsOnlyRowsOfTheSameDtypes) {
  const std::vector<TunedEntry> tuned = {
      entry("rows=100,hidden=64,T=bf16", "row THREADS=64 VEC=4", here_)};
  EXPECT_EQ(chosen("rows=100,hidden=64,T=f32", tuned, here_).front(),
            "default ladder: row THREADS=128 VEC=4");
}

TEST_F(SelectionTest, IsNotExactWithAnotherOptionalTensor) {
  const std::vector<TunedEntry> tuned = {
      entry("rows=100,hidden=64,T=f32,rstd=true", "row THREADS=64 VEC=4", here_)};
  EXPECT_EQ(chosen("rows=100,hidden=64,T=f32", tuned, here_).front(),
            "near problem: row THREADS=64 VEC=4");
}

TEST_F(SelectionTest, OtherMemoryOfTheSameGpuIsThisGpu) {
  DeviceInfo other_driver = here_, half = here_;
  other_driver.memory_bytes = here_.memory_bytes / 1000 * 1005;
  half.memory_bytes = here_.memory_bytes / 2;
  const char* const words = "rows=100,hidden=64,T=f32";
  EXPECT_EQ(chosen(words, {entry(words, "row THREADS=64 VEC=4", other_driver)}, here_).front(),
            "exact problem: row THREADS=64 VEC=4");
  EXPECT_EQ(chosen(words, {entry(words, "row THREADS=64 VEC=4", half)}, here_).front(),
            "default ladder: row THREADS=128 VEC=4");
}

TEST_F(SelectionTest, KeepsEmulationAndGpusApart) {
  const TunedEntry emulated = entry("rows=100,hidden=64,T=f32", "row THREADS=64 VEC=4", cpu_);
  const TunedEntry measured = entry("rows=100,hidden=64,T=f32", "row THREADS=256 VEC=4", here_);
  EXPECT_TRUE(emulated.emulation());
  EXPECT_EQ(chosen("rows=100,hidden=64,T=f32", {emulated}, here_).front(),
            "default ladder: row THREADS=128 VEC=4");
  EXPECT_EQ(chosen("rows=100,hidden=64,T=f32", {emulated, measured}, cpu_).front(),
            "exact problem: row THREADS=64 VEC=4");
  EXPECT_EQ(chosen("rows=100,hidden=64,T=f32", {measured}, cpu_).front(),
            "default ladder: row THREADS=128 VEC=4");
}

TunedView view(const std::string& problem, const std::string& variant, const std::string& method,
               double median_ns) {
  TunedView row;
  row.op = "toy.norm";
  row.problem = problem;
  row.tuned.gpu = 1;
  row.tuned.variant = variant;
  row.tuned.method = method;
  row.tuned.median_ns = median_ns;
  row.tuned.build_sha256 = "abc";
  return row;
}

TEST_F(SelectionTest, DecodesRowsAndLeavesOutWhatTheOperatorNoLongerOffers) {
  TunedView foreign = view("rows=4 hidden=64 T=f32", "row THREADS=64 VEC=4", "rotating", 1);
  foreign.op = "other.op";
  const std::vector<TunedEntry> entries = decode_tuned(
      op_, std::vector<TunedView>{
               view("rows=4 hidden=64 T=f32", "row THREADS=64 VEC=4", "rotating", 7),
               view("rows=4 hidden=64 T=f32", "row THREADS=64 VEC=8", "rotating", 7),
               view("rows=5 hidden=64 T=f64", "row THREADS=64 VEC=4", "rotating", 7),
               view("rows=6 columns=64 T=f32", "row THREADS=64 VEC=4", "rotating", 7), foreign});
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].problem.text(), "rows=4 hidden=64 T=f32");
  EXPECT_EQ(entries[0].median_ns, 7);
  EXPECT_EQ(entries[0].build_sha256, "abc");
}

TEST_F(SelectionTest, DecodesOneMethodPerProblem) {
  const auto decoded = [&](double graph_ns) {
    return decode_tuned(
        op_,
        std::vector<TunedView>{
            view("rows=4 hidden=64 T=f32", "row THREADS=64 VEC=4", "graph", graph_ns),
            view("rows=4 hidden=64 T=f32", "row THREADS=32 VEC=4", "rotating", 25'000),
            view("rows=4 hidden=64 T=f32", "row THREADS=128 VEC=4", "rotating_events", 30'000)});
  };
  ASSERT_EQ(decoded(21'000).size(), 1U);
  EXPECT_EQ(decoded(21'000)[0].median_ns, 25'000);
  EXPECT_EQ(decoded(19'000)[0].median_ns, 19'000) << "graph ranks what takes less than 20 us";
}

TEST_F(SelectionTest, PrefersWhatWholeTokensDecided) {
  const auto entries = decode_tuned(
      op_,
      std::vector<TunedView>{
          view("rows=4 hidden=64 T=f32", "row THREADS=64 VEC=4", "graph", 9'000),
          view("rows=4 hidden=64 T=f32", "row THREADS=32 VEC=4", std::string(kTokenMethod), 9'500),
          view("rows=4 hidden=64 T=f32", "row THREADS=128 VEC=4", "rotating", 9'200)});
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].median_ns, 9'500);
}

TEST(SelectionStepText, IsWhatPeopleRead) {
  EXPECT_EQ(to_string(SelectionStep::exact), "exact problem");
  EXPECT_EQ(to_string(SelectionStep::rules_of_other_gpu), "rules of another GPU");
  EXPECT_EQ(to_string(SelectionStep::default_ladder), "default ladder");
  EXPECT_EQ(to_string(SelectionStep::named), "named by the program");
}

TEST(DeviceOf, HasTheLimitsOfTheCpuDevice) {
  const DeviceInfo cpu = must(select_devices("cpu")).front();
  const DeviceInfo device = device_of(gpu_record(cpu));
  EXPECT_EQ(device.kind, DeviceKind::cpu);
  EXPECT_EQ(device.limits.compute_capability, cpu.limits.compute_capability);
  EXPECT_EQ(device.limits.sm_count, cpu.limits.sm_count);
  EXPECT_EQ(device.limits.max_shared_bytes, cpu.limits.max_shared_bytes);
  EXPECT_EQ(device.limits.l2_bytes, cpu.limits.l2_bytes);
}

}  // namespace
}  // namespace mgtune

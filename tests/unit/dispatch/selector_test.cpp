// Selection from measurements: the right variant where nobody measured, and never a wrong one.

#include "selection/selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "dispatch/plan.h"
#include "selection/cross_validation.h"
#include "tests/helpers/operators/toy_operators.h"

namespace mgtune {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr DimRange kDefaultRange{1, 0};

class SelectorTest : public testing::Test {
 protected:
  SelectorTest() {
    declare_toy_kernels(device_);
    evidence_ = toy_evidence(op_, here(), 144);
  }

  const DeviceInfo& here() { return device_.info(); }

  Problem problem(const std::string& words) const {
    return must(bind_problem(op_, must(parse_assignments(words))));
  }

  std::vector<SelectedVariant> ranked(const std::string& words) {
    return select_variants(problem(words), here(), evidence_);
  }

  std::vector<std::string> texts(const std::string& words) {
    std::vector<std::string> variants;
    for (const SelectedVariant& one : ranked(words)) {
      variants.push_back(variant_text(op_, one.variant));
    }
    return variants;
  }

  std::unique_ptr<Plan> plan(DimRange rows = {1, 65536}) {
    Builder builder = fake_builder();
    return must(Plan::make(modules_, builder, binding_, {rows, kDefaultRange}, evidence_));
  }

  // Every row of a variant on problems with `rows` rows ends so.
  void fail(const std::string& variant, Outcome outcome, std::int64_t rows) {
    for (Evidence::Row& row : evidence_.rows) {
      if (variant_text(op_, evidence_.variants[row.variant]) != variant ||
          evidence_.problems[row.problem].dim("rows") != rows) {
        continue;
      }
      row.outcome = outcome;
      row.median_ns = 0;
    }
  }

  FakeDevice device_;
  SharedModules modules_{device_};
  const Operator op_ = toy_norm();
  const Binding binding_ = bound(op_, {{"hidden", "64"}, {"T", "f32"}});
  Evidence evidence_;
};

TEST_F(SelectorTest, RanksAMeasuredProblemByItsMeasurements) {
  const std::vector<SelectedVariant> at = ranked("rows=256,hidden=64,T=f32");
  EXPECT_EQ(variant_text(op_, at[0].variant), "row THREADS=64 VEC=4");
  EXPECT_EQ(at[0].step, SelectionStep::exact);
  EXPECT_EQ(at[0].expected_ns, 25'600);
  EXPECT_EQ(at[0].slowdown, 0);
  EXPECT_EQ(at[0].reason, "measured at rows=256 hidden=64 T=f32 on Fake H200");
  EXPECT_NEAR(at[1].slowdown, 0.2, 1e-9);
}

TEST_F(SelectorTest, EstimatesWhatWasNotMeasured) {
  for (const auto& [rows, best] : {std::pair("rows=150", "row THREADS=64 VEC=4"),
                                   std::pair("rows=20000", "row THREADS=256 VEC=4")}) {
    const std::vector<SelectedVariant> at = ranked(std::string(rows) + ",hidden=64,T=f32");
    EXPECT_EQ(variant_text(op_, at[0].variant), best);
    EXPECT_EQ(at[0].step, SelectionStep::least_regret);
    EXPECT_LT(at[0].slowdown, 0.05);
    EXPECT_GE(at[0].slowdown, 0);
  }
  EXPECT_NEAR(ranked("rows=150,hidden=64,T=f32")[0].expected_ns, 15'000, 1'500);
}

// 16 to 32768 rows of 64 were measured. hidden is compiled in and counts four times: 80 is near, 96
// is not; of rows twice as many are near, eight times as many are not.
TEST_F(SelectorTest, BelievesNoEstimateFarFromAllThatWasMeasured) {
  const std::string fallback = variant_text(op_, all_defaults(op_).front());
  EXPECT_EQ(texts("rows=20000,hidden=80,T=f32")[0], "row THREADS=256 VEC=4");
  EXPECT_EQ(texts("rows=20000,hidden=96,T=f32")[0], fallback);
  EXPECT_EQ(texts("rows=20000,hidden=256,T=f32")[0], fallback);
  EXPECT_EQ(texts("rows=65536,hidden=64,T=f32")[0], "row THREADS=256 VEC=4");
  EXPECT_EQ(texts("rows=262144,hidden=64,T=f32")[0], fallback);
}

TEST_F(SelectorTest, PrefersThePickOfAProblemToItsFastestTime) {
  evidence_.tuned = {
      tuned_entry(op_, "rows=256,hidden=64,T=f32", "row THREADS=128 VEC=4", here(), 26'000)};
  const std::vector<SelectedVariant> at = ranked("rows=256,hidden=64,T=f32");
  EXPECT_EQ(variant_text(op_, at[0].variant), "row THREADS=128 VEC=4");
  EXPECT_EQ(at[0].reason, "tuned for rows=256 hidden=64 T=f32 on Fake H200");
}

TEST_F(SelectorTest, RegretComparesWhatWasMeasuredAloneWhateverThePickTookInAFinal) {
  const std::string pick = "row THREADS=128 VEC=4", fastest = "row THREADS=64 VEC=4";
  const auto slowdown_of = [&](const std::string& text) {
    for (const SelectedVariant& one : ranked("rows=256,hidden=64,T=f32")) {
      if (variant_text(op_, one.variant) == text) return one.slowdown;
    }
    return -1.0;
  };
  const double alone = slowdown_of(pick);
  ASSERT_GT(alone, 0.1);
  for (const double final_ns : {20'000.0, 40'000.0}) {
    evidence_.tuned = {tuned_entry(op_, "rows=256,hidden=64,T=f32", pick, here(), final_ns)};
    EXPECT_EQ(ranked("rows=256,hidden=64,T=f32")[0].expected_ns, final_ns);
    EXPECT_EQ(slowdown_of(pick), alone) << final_ns;
    EXPECT_NEAR(ranked("rows=256,hidden=64,T=f32")[0].alone_ns, 25'600 * (1 + alone), 1e-6);
    EXPECT_EQ(slowdown_of(fastest), 0) << final_ns;
  }
}

TEST_F(SelectorTest, NeverOffersWhatFailedOnThisGpuNotEvenOfTheLadder) {
  for (const Outcome outcome :
       {Outcome::wrong, Outcome::crashed, Outcome::timeout, Outcome::launch_failed}) {
    evidence_ = toy_evidence(op_, here(), 144);
    fail("row THREADS=128 VEC=4", outcome, 16);  // the ladder's first
    fail("row THREADS=64 VEC=4", outcome, 16);
    evidence_.tuned = {
        tuned_entry(op_, "rows=256,hidden=64,T=f32", "row THREADS=64 VEC=4", here(), 25'600)};
    for (const char* words : {"rows=16,hidden=64,T=f32", "rows=150,hidden=64,T=f32",
                              "rows=256,hidden=64,T=f32", "rows=9,hidden=8,T=bf16"}) {
      EXPECT_THAT(texts(words), Not(Contains("row THREADS=128 VEC=4"))) << words;
      EXPECT_THAT(texts(words), Not(Contains("row THREADS=64 VEC=4"))) << words;
      EXPECT_FALSE(texts(words).empty());
    }
    EXPECT_THAT(plan()->variants(), Not(Contains("row THREADS=128 VEC=4")));
    EXPECT_THAT(plan()->variants(), Not(Contains("row THREADS=64 VEC=4")));
  }
}

TEST_F(SelectorTest, TriesAgainWhatCouldNotBeBuilt) {
  fail("row THREADS=64 VEC=4", Outcome::compile_failed, 16);
  EXPECT_EQ(texts("rows=150,hidden=64,T=f32").front(), "row THREADS=64 VEC=4");
}

TEST_F(SelectorTest, WhatFailedOnAnotherGpuMayServeHere) {
  GpuRecord other = gpu_record(here());
  other.model = "Fake H100";
  evidence_.gpus.push_back(other);
  evidence_.rows.push_back({1, 0, 7, 0, Outcome::wrong, 0});
  EXPECT_TRUE(failed_variants(evidence_, gpu_record(here())).empty());
  EXPECT_EQ(failed_variants(evidence_, other).size(), 1U);
}

TEST_F(SelectorTest, TakesTheMeasurementsOfTheNearestGpuWhereThisOneHasNone) {
  evidence_.gpus[0].model = "Fake H100";
  const std::vector<SelectedVariant> at = ranked("rows=256,hidden=64,T=f32");
  EXPECT_EQ(variant_text(op_, at[0].variant), "row THREADS=64 VEC=4");
  EXPECT_EQ(at[0].step, SelectionStep::nearest_gpu);
  EXPECT_THAT(at[0].reason, HasSubstr("Fake H100"));
  evidence_.gpus[0].emulation = true;
  EXPECT_EQ(ranked("rows=256,hidden=64,T=f32")[0].step, SelectionStep::default_ladder);
}

TEST_F(SelectorTest, FlagsMeasurementsOfAnotherDriver) {
  EXPECT_FALSE(ranked("rows=150,hidden=64,T=f32")[0].other_driver);
  device_.device_info.driver = "999.1";
  EXPECT_TRUE(ranked("rows=150,hidden=64,T=f32")[0].other_driver);
  EXPECT_TRUE(ranked("rows=256,hidden=64,T=f32")[0].other_driver);
  EXPECT_THAT(plan()->explain({150, -1})->reason, HasSubstr("another driver"));
}

TEST_F(SelectorTest, CountsOnlyMeasurementsOfTheSameDtypes) {
  EXPECT_EQ(ranked("rows=256,hidden=64,T=bf16")[0].step, SelectionStep::default_ladder);
}

// The plan's look-up agrees with the ranking where something was measured, and nowhere does it
// take what is slower than the default was measured to be.
TEST_F(SelectorTest, APlanIsNeverSlowerThanTheDefaultAtAMeasuredProblem) {
  const auto made = plan();
  EXPECT_LE(made->variants().size(), 8U);
  const Variant fallback = all_defaults(op_).front();
  for (const Evidence::Row& row : evidence_.rows) {
    if (evidence_.variants[row.variant] != fallback) continue;
    const std::int64_t rows = evidence_.problems[row.problem].dim("rows");
    const Plan::Explanation why = must(made->explain({rows, -1}));
    EXPECT_EQ(why.step, SelectionStep::exact) << rows;
    EXPECT_LE(why.expected_ns, row.median_ns) << rows;
  }
  const Plan::Explanation between = must(made->explain({20'000, -1}));
  EXPECT_EQ(between.variant, "row THREADS=256 VEC=4");
  EXPECT_EQ(between.expected_ns, 0) << "nobody measured it";
  EXPECT_EQ(between.slowdown, -1);
}

TEST_F(SelectorTest, CrossValidationLosesLittleWhereTheBestIsSmooth) {
  const std::vector<HeldOut> all =
      cross_validate(problem("rows=256,hidden=64,T=f32"), here(), evidence_);
  ASSERT_EQ(all.size(), 12U);
  EXPECT_EQ(all.front().problem->dim("rows"), 256) << "the nearest first";
  EXPECT_EQ(median_regret(regrets(all)), 0);
  EXPECT_EQ(worst_regret({}), 0);
  const Variant fallback = all_defaults(op_).front();
  for (const HeldOut& one : all) {
    for (const Evidence::Row& row : evidence_.rows) {
      if (evidence_.variants[row.variant] != fallback) continue;
      if (evidence_.problems[row.problem].slots != one.problem->slots) continue;
      EXPECT_EQ(one.default_ns, row.median_ns) << one.problem->text();
    }
  }
  EXPECT_EQ(default_regrets(all).size(), 12U);
  EXPECT_GT(worst_regret(default_regrets(all)), 0.4) << "it fits half of them";
  EXPECT_EQ(cross_validate(problem("rows=256,hidden=64,T=bf16"), here(), evidence_).size(), 0U);
}

// ---- rows as a database has them ----

MeasuredRows one_problem(const std::string& variant, Outcome outcome, double median_ns) {
  MeasuredRows rows;
  rows.gpus = {gpu_record(FakeDevice().info())};
  rows.problems = {{"toy.norm", "rows=4 hidden=64 T=f32"}};
  rows.methods = {"", "graph", "rotating"};
  rows.drivers = {""};
  rows.variants = {variant, "row THREADS=32 VEC=4"};
  rows.rows = {{0, 0, 0, 2, 0, outcome, median_ns}, {0, 0, 1, 1, 0, Outcome::ok, 25'000}};
  return rows;
}

TEST_F(SelectorTest, UsesNoRowThatTheOperatorDoesNotOffer) {
  for (const char* variant :
       {"row THREADS=33 VEC=4", "row THREADS=64 VEC=4 PDL=true", "column THREADS=64 VEC=4",
        "row THREADS=64 VEC=4>();system(\"x\");//", "row THREADS=64 VEC=", "", "row THREADS=64"}) {
    const MeasuredRows rows = one_problem(variant, Outcome::ok, 10'000);
    const Evidence evidence = decode_evidence(op_, {}, rows);
    for (const Evidence::Row& row : evidence.rows) {
      EXPECT_EQ(variant_text(op_, evidence.variants[row.variant]), "row THREADS=32 VEC=4");
    }
    // Other names are another version of the operator; anything else is a mistake.
    EXPECT_EQ(check_offered(op_, {}, rows).ok(), is_of_another_version(op_, variant)) << variant;
  }
  for (const char* other : {"row THREADS=64 VEC=4 PDL=true", "row THREADS=64", "column THREADS=64",
                            "row THREADS=33 VEC=4 PDL=true", "row THREADS=33"}) {
    EXPECT_TRUE(is_of_another_version(op_, other)) << other;
  }
  for (const char* mistake : {"row THREADS=33 VEC=4", "row THREADS=64 VEC=4>();system(\"x\");//",
                              "row>(); THREADS=64", "row THREADS", ""}) {
    EXPECT_FALSE(is_of_another_version(op_, mistake)) << mistake;
  }
  EXPECT_THAT(check_offered(op_, {}, one_problem("row THREADS=33 VEC=4", Outcome::ok, 1)).message(),
              HasSubstr("33"));
  MeasuredRows rows = one_problem("row THREADS=64 VEC=4", Outcome::ok, 1);
  EXPECT_TRUE(check_offered(op_, {}, rows).ok());
  // A problem that nothing was measured at for the first time.
  rows.problems.push_back({"toy.norm", "rows=1 hidden=64 T=f64"});
  rows.rows.push_back({0, 1, 0, 1, 0, Outcome::ok, 1});
  EXPECT_THAT(check_offered(op_, {}, rows).message(), HasSubstr("f64"));
}

TEST_F(SelectorTest, RanksTimesOfOneMethodAlone) {
  // Of graph 25 us and rotating 30 us the latter counts; of graph 19 us the former.
  MeasuredRows rows = one_problem("row THREADS=64 VEC=4", Outcome::ok, 30'000);
  ASSERT_EQ(decode_evidence(op_, {}, rows).rows.size(), 1U);
  EXPECT_EQ(decode_evidence(op_, {}, rows).rows[0].median_ns, 30'000);
  rows.rows[1].median_ns = 19'000;
  ASSERT_EQ(decode_evidence(op_, {}, rows).rows.size(), 1U);
  EXPECT_EQ(decode_evidence(op_, {}, rows).rows[0].median_ns, 19'000);
}

}  // namespace
}  // namespace mgtune

// Which tuned rows count with this build, and what a reader says of those that do not.

#include "selection/usable_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "system/file_system.h"
#include "tests/helpers/replaced.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

using testing::HasSubstr;

class UsableRowsTest : public testing::Test {
 protected:
  static TunedView row() {
    TunedView view;
    view.gpu = kH200Record;
    view.op = "rmsnorm.forward";
    view.problem = "rows=64 hidden=1024 T=bf16";
    view.tuned.variant =
        "row THREADS_PER_ROW=64 ROWS_PER_BLOCK=1 ROWS_PER_THREAD=1 VEC=8 LOAD=no_allocate "
        "STORE=streaming WEIGHT=early PDL=false";
    return view;
  }
  RowUse use(const TunedView& view) { return use_of(view, catalog_, failed_); }
  bool leaves_out(const TunedView& view) { return left_out_.leaves_out(view, catalog_, failed_); }

  Catalog catalog_{FileSystem::real()};
  FailedVariants failed_;
  LeftOutRows left_out_;
};

TEST_F(UsableRowsTest, ARowOfThisBuildIsUsable) {
  EXPECT_EQ(use(row()), RowUse::usable);
  EXPECT_FALSE(leaves_out(row()));
  EXPECT_TRUE(left_out_.sentences().empty());
}

TEST_F(UsableRowsTest, WhatIsNotOfferedIsNotUsable) {
  for (const char* variant : {"stream THREADS=256 STAGES=1", "row VEC=8", "", "\x1b[2J"}) {
    TunedView other = row();
    other.tuned.variant = variant;
    EXPECT_EQ(use(other), RowUse::not_offered) << variant;
  }
  TunedView value = row();
  value.tuned.variant = replaced(value.tuned.variant, "VEC=8", "VEC=3");
  EXPECT_EQ(use(value), RowUse::not_offered);
  TunedView problem = row();
  problem.problem = "rows=64 hidden=1024 T=f8";
  EXPECT_EQ(use(problem), RowUse::not_offered);
  TunedView op = row();
  op.op = "rmsnorm.gone";
  EXPECT_EQ(use(op), RowUse::not_offered) << "the family ships, so everybody has lost the operator";
}

TEST_F(UsableRowsTest, AFamilyThatIsNotKnownIsNotJudged) {
  TunedView view = row();
  view.op = "somebody.elses";
  EXPECT_EQ(use(view), RowUse::unknown_operator);
  EXPECT_FALSE(leaves_out(view));
}

TEST_F(UsableRowsTest, AVariantThatTheOperatorDoesNotAdmit) {
  TunedView view = row();
  view.problem = "rows=64 hidden=1023 T=bf16";  // not a multiple of VEC
  EXPECT_EQ(use(view), RowUse::not_admissible);
}

TEST_F(UsableRowsTest, AVariantThatFailedAnywhereOnTheGpu) {
  for (const Outcome harmless : {Outcome::ok, Outcome::raced_out, Outcome::compile_failed}) {
    failed_.add(kH200Record, row().op, row().tuned.variant, harmless);
  }
  GpuRecord other = kH200Record;
  other.model = "NVIDIA L4";
  failed_.add(other, row().op, row().tuned.variant, Outcome::wrong);
  failed_.add(kH200Record, "rmsnorm.add_forward", row().tuned.variant, Outcome::wrong);
  EXPECT_EQ(use(row()), RowUse::usable);
  failed_.add(kH200Record, row().op, row().tuned.variant, Outcome::timeout);
  EXPECT_EQ(use(row()), RowUse::failed);
}

// Files may have the parameters of a variant in any order.
TEST_F(UsableRowsTest, AVariantThatFailedWithItsParametersInAnotherOrder) {
  const std::string other_order =
      " row VEC=8 PDL=false WEIGHT=early  STORE=streaming LOAD=no_allocate ROWS_PER_THREAD=1, "
      "ROWS_PER_BLOCK=1 THREADS_PER_ROW=64";
  failed_.add(kH200Record, row().op, replaced(other_order, "VEC=8", "VEC=4"), Outcome::wrong);
  EXPECT_EQ(use(row()), RowUse::usable) << "another value is another variant";
  failed_.add(kH200Record, row().op, other_order, Outcome::wrong);
  EXPECT_EQ(use(row()), RowUse::failed);
  EXPECT_TRUE(leaves_out(row()));
  TunedView view = row();
  view.tuned.variant = other_order;
  EXPECT_TRUE(leaves_out(view));
  EXPECT_THAT(
      left_out_.sentences(),
      testing::ElementsAre(testing::ContainsRegex("PDL=false \\(wrong\\).*=64 \\(wrong\\)")));
  EXPECT_TRUE(failed_.find(kH200Record, row().op, row().tuned.variant).has_value());
  failed_.add(kH200Record, row().op, "no assignment", Outcome::crashed);
  EXPECT_EQ(failed_.find(kH200Record, row().op, "no assignment"), Outcome::crashed);
}

TEST_F(UsableRowsTest, TheSentencesNameReasonsAndRows) {
  failed_.add(kH200Record, row().op, row().tuned.variant, Outcome::wrong);
  EXPECT_TRUE(leaves_out(row()));
  for (const char* variant : {"a N=1", "\x1b[2J", "c N=1", "d N=1", "e N=1"}) {
    TunedView gone = row();
    gone.tuned.variant = variant;
    EXPECT_TRUE(leaves_out(gone));
  }
  EXPECT_EQ(left_out_.count(), 6U);
  const std::vector<std::string> sentences = left_out_.sentences();
  ASSERT_EQ(sentences.size(), 2U);
  EXPECT_EQ(sentences[0],
            "5 tuned problems that the operators do not offer any more are left out: "
            "rmsnorm.forward rows=64 hidden=1024 T=bf16 with a N=1; "
            "rmsnorm.forward rows=64 hidden=1024 T=bf16 with ?[2J; "
            "rmsnorm.forward rows=64 hidden=1024 T=bf16 with c N=1; and 2 more");
  EXPECT_THAT(sentences[1],
              testing::AllOf(HasSubstr("1 tuned problem whose variant is recorded as failed"),
                             HasSubstr("PDL=false (wrong)")));
}

}  // namespace
}  // namespace mgtune

#include "model/next_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/import.h"
#include "tests/helpers/made_up_report.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kSteppedProblem[] = "rows=4096 hidden=4096 T=bf16";

// A sweep of four variants of `admissible`, whose pick takes 20 us beside a copy of `copy_ns`.
StoredRows swept_rows(std::int64_t admissible, double copy_ns) {
  StoredRows rows;
  std::int64_t id = 0;
  const auto add = [&](const char* variant, double time_ns) {
    rows.outcomes.push_back(made_up_outcome(kH200, kSteppedProblem, variant, Outcome::ok, time_ns));
    rows.outcomes.back().id = ++id;
    rows.outcomes.back().recorded_at = "2026-11-21T09:00:1" + std::to_string(id) + ".000Z";
  };
  add("row VEC=8 STAGES=2", 20000);
  add("row VEC=4 STAGES=2", 30000);
  add("row VEC=8 STAGES=3", 21000);
  add("row VEC=2 STAGES=3", 40000);
  rows.sweeps.push_back(made_up_sweep(1, kH200, "2026-11-21T09:00:00Z"));
  rows.tuned.push_back(made_up_pick(kH200, kSteppedProblem, "row VEC=8 STAGES=2", 20000,
                                    "row VEC=8 STAGES=2", 20000));
  rows.tuned.back().copy_ns = copy_ns;
  SpaceView space;
  space.gpu_id = kH200;
  space.op = "rmsnorm.forward";
  space.problem = kSteppedProblem;
  space.space.design = "row";
  space.space.points = space.space.admissible = admissible;
  rows.spaces.push_back(space);
  return rows;
}

NextStep step_of(StoredRows rows) {
  const ReportModel model = make_report_model(std::move(rows));
  return next_step(model, analyze(model), model.picks.front());
}

TEST(NextStepTest, AtACeilingTheSearchOfThisShapeIsOver) {
  const NextStep step = step_of(swept_rows(100, 19600));
  EXPECT_THAT(step.text, StartsWith("Stop tuning this shape: at 98.0 % of the copy of 64.0 MiB"));
  EXPECT_EQ(step.command, NextStep::Command::none);
}

TEST(NextStepTest, ASpaceThatWasNotSearchedWholeIsSearchedFurther) {
  const NextStep step = step_of(swept_rows(100, 15000));
  EXPECT_EQ(step.text,
            "4 of 100 admissible variants were tried. With all else as in the pick, VEC=2 was not "
            "tried, or a constraint rules it out. A sweep with a longer --budget goes on from "
            "there:");
  EXPECT_EQ(step.command, NextStep::Command::repeat_sweep);
}

TEST(NextStepTest, AWholeSpaceIsCountedOnce) {
  StoredRows rows = swept_rows(4, 15000);
  EXPECT_EQ(step_of(rows).command, NextStep::Command::count);
  CounterView view;
  view.gpu_id = kH200;
  view.op = "rmsnorm.forward";
  view.problem = kSteppedProblem;
  view.variant = rows.outcomes.front().variant;
  view.build_sha256 = rows.outcomes.front().build_sha256;
  view.counters = {{"instructions", 1e6}};
  rows.counters.push_back(view);
  const NextStep step = step_of(rows);
  EXPECT_THAT(step.text, StartsWith("All 4 admissible variants were tried"));
  EXPECT_EQ(step.command, NextStep::Command::none);
}

TEST(NextStepTest, ABestThatCameLateMayNotBeTheLast) {
  StoredRows rows = swept_rows(100, 15000);
  std::swap(rows.outcomes.front().id, rows.outcomes.back().id);
  EXPECT_THAT(step_of(std::move(rows)).text, StartsWith("The best came late in the search."));
}

TEST(NextStepTest, APeerThatIsFasterIsUsed) {
  StoredRows rows = swept_rows(100, 15000);
  PeerView peer;
  peer.op = "rmsnorm.forward";
  peer.problem = kSteppedProblem;
  peer.peer.name = "cuDNN";
  peer.peer.gpu = "NVIDIA H200";
  peer.peer.median_ns = 18000;
  rows.peers.push_back(peer);
  EXPECT_EQ(step_of(std::move(rows)).text,
            "Use cuDNN for this problem until a variant is found that beats its 18.00 us.");
}

TEST(NextStepTest, AnImportedPickWithoutVariantsNeedsASweep) {
  StoredRows rows = swept_rows(100, 0);
  rows.outcomes.clear();
  rows.sweeps.front().sweep.strategy = kImportStrategy;
  const NextStep step = step_of(std::move(rows));
  EXPECT_THAT(step.text, StartsWith("Only the pick was imported."));
  EXPECT_EQ(step.command, NextStep::Command::first_sweep);
}

TEST(NextStepTest, EmulationNeedsAGpu) {
  const ReportModel model = make_report_model(made_up_rows());
  const NextStep step = next_step(model, analyze(model), model.picks.back());
  EXPECT_THAT(step.text, HasSubstr("on a GPU"));
  EXPECT_EQ(step.command, NextStep::Command::sweep_on_gpu);
}

}  // namespace
}  // namespace mgtune

// A sweep with a budget of time: the order in which it evaluates variants, and what it says of the
// time. Events of the workers' log are counted; no test depends on how fast this machine is.

#include "sweep/timed_turns.h"

#include "tests/helpers/problem_sweep_fixture.h"

namespace mgtune {
namespace {

using testing::Each;
using testing::ElementsAre;

class TimedTurnsTest : public ProblemSweepTest {
 protected:
  TimedTurnsTest() {
    options_.compile_processes = 2;
    options_.budget.seconds = 30;  // more than any test needs; less than 10 s for each of four
  }

  std::vector<Problem> with_rows(std::initializer_list<const char*> all) const {
    std::vector<Problem> problems;
    for (const char* rows : all) {
      problems.push_back(
          bind_problem(*problem_.op, {{"rows", rows}, {"hidden", "64"}, {"T", "f32"}}).value());
    }
    return problems;
  }

  std::vector<WorkerEvent> begins(const std::string& kind) const {
    std::vector<WorkerEvent> found;
    for (const WorkerEvent& event : events()) {
      if (event.kind == kind && event.event == "begins") found.push_back(event);
    }
    return found;
  }
};

TEST_F(TimedTurnsTest, TheDefaultsOfAllProblemsComeBeforeAnyOtherVariant) {
  const SweepSummary summary = sweep(with_rows({"32", "4", "16", "8"}));
  const std::vector<WorkerEvent> all = begins("measure");
  ASSERT_EQ(all.size(), 24U);
  std::vector<std::string> problems;
  for (std::size_t i = 0; i < 4; ++i) {
    problems.push_back(all[i].problem);
    EXPECT_EQ(all[i].variant, summary.picks[0].tuned.default_variant);
  }
  EXPECT_THAT(problems, ElementsAre("rows=4,hidden=64,T=f32", "rows=8,hidden=64,T=f32",
                                    "rows=16,hidden=64,T=f32", "rows=32,hidden=64,T=f32"));
  for (std::size_t i = 4; i < all.size(); ++i) {
    EXPECT_NE(all[i].variant, summary.picks[0].tuned.default_variant);
  }
}

TEST_F(TimedTurnsTest, FinalsAreHeldAtTheEndOncePerProblem) {
  const SweepSummary summary = sweep(with_rows({"4", "8", "16"}));
  EXPECT_FALSE(summary.ended_by_budget);
  EXPECT_EQ(summary.picks.size(), 3U);
  ASSERT_TRUE(summary.budget_use.has_value());
  EXPECT_EQ(summary.budget_use->complete, 3);
  EXPECT_EQ(summary.budget_use->expected, 1);
  const std::vector<WorkerEvent> all = events();
  const auto first_final = std::ranges::find(all, "final", &WorkerEvent::kind);
  EXPECT_EQ(std::count_if(first_final, all.end(),
                          [](const WorkerEvent& event) { return event.kind == "final"; }),
            static_cast<std::ptrdiff_t>(count(all, "final")));
  EXPECT_EQ(count(all, "final"), 6U) << "three begin, three are done";
  EXPECT_EQ(std::count_if(first_final, all.end(),
                          [](const WorkerEvent& event) { return event.kind == "measure"; }),
            0);
}

TEST_F(TimedTurnsTest, IfThereIsTimeForAllFinalsAProblemHasItsOwnWhenItIsOver) {
  options_.budget.seconds = 600;
  const SweepSummary summary = sweep(with_rows({"4", "8", "16"}));
  EXPECT_EQ(summary.picks.size(), 3U);
  const std::vector<WorkerEvent> all = events();
  EXPECT_EQ(count(all, "final"), 6U) << "three begin, three are done";
  const auto last_measured = std::find_if(
      all.rbegin(), all.rend(), [](const WorkerEvent& event) { return event.kind == "measure"; });
  EXPECT_EQ(std::count_if(last_measured, all.rend(),
                          [](const WorkerEvent& event) { return event.kind == "final"; }),
            4)
      << "all but that of the last problem";
}

// A variant that is wrong at one problem is no pick of any, also if it won a final before that.
TEST_F(TimedTurnsTest, ThePickOfAnEarlyFinalMayNotFailLater) {
  const std::vector<std::string> others = beside_ladder();
  const std::string fast = others[others.size() / 2];
  const Variable named("FAKE_WORKER_FAST", fast);
  const Variable wrong("FAKE_WORKER_WRONG", "rows=16,hidden=64,T=f32 " + fast);
  options_.budget.seconds = 600;
  options_.budget.evaluations = static_cast<std::int64_t>(others.size() + 20);  // all
  const SweepSummary summary = sweep(with_rows({"4", "16"}));
  ASSERT_EQ(summary.picks.size(), 2U);
  for (const TunedView& pick : summary.picks) EXPECT_NE(pick.tuned.variant, fast) << pick.problem;
}

// The store has a final by time, whose finalists have no energies.
TEST_F(TimedTurnsTest, AFinalByEnergyMayFollowOneByTime) {
  for (const double budget_s : {30.0, 600.0}) {
    options_.budget.seconds = budget_s;
    options_.objective = Objective::time;
    sweep({problem_});
    options_.objective = Objective::energy;
    EXPECT_EQ(sweep({problem_}).picks.size(), 1U) << budget_s;
  }
}

TEST_F(TimedTurnsTest, TheWinnerOfAProblemIsTriedFirstAtTheOthers) {
  const Space space(problem_, devices_[0].limits);
  std::vector<std::string> others = beside_ladder();
  const std::string fast = others[others.size() / 2];
  const Variable named("FAKE_WORKER_FAST", fast);
  record_neighbor({fast});         // of 8 rows
  options_.compile_processes = 1;  // so that variants are measured in the order of the search
  options_.budget.evaluations = 12;
  sweep(with_rows({"4", "16"}));
  std::map<std::string, std::vector<std::string>> tried;
  for (const WorkerEvent& event : begins("measure")) tried[event.problem].push_back(event.variant);
  ASSERT_EQ(tried.size(), 2U);
  for (const auto& [problem, variants] : tried) {
    ASSERT_GE(variants.size(), 2U);
    EXPECT_EQ(variants[1], fast) << problem << ": right behind the default";
  }
}

TEST_F(TimedTurnsTest, TheSameCommandHasNothingLeftToDo) {
  const std::vector<Problem> problems = with_rows({"4", "8", "16"});
  const SweepSummary first = sweep(problems);
  const std::size_t before = events().size();
  const SweepSummary again = sweep(problems);
  EXPECT_EQ(again.evaluated, 0);
  EXPECT_EQ(again.reused, first.evaluated);
  EXPECT_EQ(events().size(), before);
  ASSERT_EQ(again.picks.size(), 3U);
  for (const TunedView& pick : again.picks) {
    const auto same = std::ranges::find(first.picks, pick.problem, &TunedView::problem);
    ASSERT_NE(same, first.picks.end());
    EXPECT_EQ(pick.tuned.median_ns, same->tuned.median_ns) << "of the final";
  }
}

// A sweep whose time is over has no final, and one that the store has decides all the same.
TEST_F(TimedTurnsTest, AFinalThatIsKnownDecidesWithoutTime) {
  const SweepSummary first = sweep({problem_});
  options_.budget.seconds = 1e-6;
  const SweepSummary again = sweep({problem_});
  ASSERT_EQ(again.picks.size(), 1U);
  EXPECT_EQ(again.picks[0].tuned, first.picks[0].tuned);
}

TEST_F(TimedTurnsTest, WithoutTimeThereIsNoFinalAndTheRestIsNamed) {
  options_.budget.seconds = 1e-6;
  const SweepSummary summary = sweep(with_rows({"4", "8", "16"}));
  EXPECT_TRUE(summary.ended_by_budget);
  EXPECT_EQ(summary.evaluated, 1);
  EXPECT_EQ(count(events(), "final"), 0U);
  ASSERT_TRUE(summary.budget_use.has_value());
  EXPECT_EQ(summary.budget_use->defaults, 1);
  EXPECT_EQ(summary.budget_use->not_begun, 2);
  EXPECT_GT(summary.budget_use->expected, 1);
  EXPECT_EQ(summary.budget_use->most_expected.size(), 3U);
}

TEST_F(TimedTurnsTest, SeveralGpusEvaluateEveryVariantOnce) {
  options_.strategy = "adaptive";
  options_.compile_processes = 3;
  options_.budget.evaluations = 20;
  use_three_devices();
  const SweepSummary summary = sweep(with_rows({"4", "8", "16", "32"}));
  EXPECT_EQ(summary.picks.size(), 4U);
  std::set<std::string> seen;
  for (const WorkerEvent& event : begins("measure")) {
    EXPECT_TRUE(seen.insert(event.problem + " " + event.variant).second) << event.variant;
  }
  EXPECT_EQ(static_cast<std::int64_t>(seen.size()), summary.evaluated);
  EXPECT_GE(summary.evaluated, 80) << "the winners of others come on top of the number";
}

TEST_F(TimedTurnsTest, TheDefaultsOfSeveralProblemsCompileAtTheSameTime) {
  std::vector<Problem> problems;
  for (const char* hidden : {"64", "128", "256", "512", "1024"}) {
    problems.push_back(
        bind_problem(*problem_.op, {{"rows", "4"}, {"hidden", hidden}, {"T", "f32"}}).value());
  }
  options_.compile_processes = 4;
  options_.budget.evaluations = 1;
  const SweepSummary summary = sweep(problems);
  EXPECT_EQ(summary.evaluated, 5);
  EXPECT_EQ(summary.compiled, 5);
  const std::vector<WorkerEvent> all = events();
  const auto first_measured = std::ranges::find(all, "measure", &WorkerEvent::kind);
  EXPECT_GE(std::count_if(
                all.begin(), first_measured,
                [](const WorkerEvent& e) { return e.kind == "compile" && e.event == "begins"; }),
            2)
      << "the next problem's default does not wait for the first one's";
}

}  // namespace
}  // namespace mgtune

// The sweep's loop with workers that take their time and write down what they do when.

#include "sweep/problem_sweep.h"

#include <chrono>

#include "selection/pick_key.h"
#include "tests/helpers/all_variants.h"
#include "tests/helpers/problem_sweep_fixture.h"

namespace mgtune {
namespace {

TEST_F(ProblemSweepTest, CompilingGoesOnWhileAVariantIsMeasured) {
  const Variable slow("FAKE_WORKER_MEASURE_MS", "400");
  options_.compile_processes = 2;
  options_.budget.evaluations = 5;
  EXPECT_EQ(sweep().evaluated, 5);
  const std::vector<WorkerEvent> all = events();
  const auto first_measured = std::ranges::find_if(
      all, [](const WorkerEvent& e) { return e.kind == "measure" && e.event == "is"; });
  // The window is five. Three of them wait until a compile worker is done with the first two, and
  // nothing but the loop gives them to it.
  EXPECT_EQ(count({all.begin(), first_measured}, "compile"), 10U);
}

TEST_F(ProblemSweepTest, AProgramFindsThePickByItsKey) {
  sweep();
  const std::vector<TunedView> stored = store_.tuned().value();
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_EQ(stored.front().tuned.key, key_of(problem_));
}

TEST_F(ProblemSweepTest, TheDefaultHasItsResultBeforeAnyOther) {
  const Variable slow("FAKE_WORKER_COMPILE_MS", "50");
  options_.compile_processes = 4;
  const SweepSummary summary = sweep();
  EXPECT_EQ(summary.evaluated, 6);
  ASSERT_EQ(summary.picks.size(), 1U);
  std::vector<WorkerEvent> measured = events();
  std::erase_if(measured, [](const WorkerEvent& e) { return e.kind != "measure"; });
  ASSERT_EQ(measured.size(), 12U);
  EXPECT_EQ(measured[0].variant, summary.picks[0].tuned.default_variant);
  EXPECT_EQ(measured[0].stop_above_ns, 0);
  EXPECT_EQ(measured[1].event, "is");
  EXPECT_EQ(measured[2].stop_above_ns, 1000) << "the default is the incumbent";
}

// The default is measured while the GPU is cool. 1,200 ns at 1,500 MHz are 909 ns at its clock.
TEST_F(ProblemSweepTest, TimesOfAHotGpuAreComparedAtTheClockOfACoolOne) {
  devices_[0].kind = DeviceKind::cuda;  // as far as the loop can tell: its workers are fakes
  devices_[0].arch = "sm_90a";
  options_.method = {"rotating", ""};
  options_.for_rules = true;  // so there is no final
  problem_ = bind_problem(*catalog_.find_operator("gemm.forward").value(),
                          {{"m", "1024"}, {"n", "1024"}, {"k", "1024"}, {"T", "bf16"}})
                 .value();
  const Space space(problem_, devices_[0].limits);
  const std::string cool = variant_text(space.op(), space.ladder().front());
  const Variable environment("FAKE_WORKER_COOL", cool);
  sweep();
  std::vector<WorkerEvent> measured = events();
  std::erase_if(measured, [](const WorkerEvent& event) {
    return event.kind != "measure" || event.event != "begins";
  });
  // Of the six evaluations, some may be the same code and launches as others: PDL where no grid
  // begins early.
  ASSERT_GE(measured.size(), 4U);
  EXPECT_EQ(measured[0].variant, cool);
  EXPECT_DOUBLE_EQ(measured.back().stop_above_ns, 1284) << "7 % above the fastest";
  EXPECT_EQ(measured.back().stop_above_mhz, 1500);
  const std::vector<TunedView> stored = *store_.tuned();
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_EQ(stored.front().tuned.median_ns, 1200) << "as measured";
  EXPECT_DOUBLE_EQ(stored.front().tuned.default_median_ns, 1320) << "at the clock of the pick";
}

TEST_F(ProblemSweepTest, WhatRulesLeftOfTheSpaceIsRecordedOnce) {
  sweep();
  const Space space(problem_, devices_[0].limits);
  const std::vector<DesignStatistics> statistics = space.statistics();
  const std::vector<SpaceView> spaces = *store_.spaces();
  ASSERT_EQ(spaces.size(), statistics.size());
  for (std::size_t i = 0; i < spaces.size(); ++i) {
    const SpaceRecord& space_record = spaces[i].space;
    EXPECT_EQ(space_record.design, statistics[i].design);
    EXPECT_EQ(space_record.points, static_cast<std::int64_t>(statistics[i].points));
    EXPECT_EQ(space_record.admissible, static_cast<std::int64_t>(statistics[i].admissible));
    EXPECT_EQ(space_record.unavailable, statistics[i].unavailable);
    std::int64_t lost = 0;
    for (const PrunedRecord& pruned : space_record.pruned) lost += pruned.points;
    EXPECT_EQ(space_record.admissible + lost, space_record.points) << space_record.design;
  }
  sweep();
  EXPECT_EQ(store_.spaces()->front().sweep, spaces.front().sweep) << "all was known: no new row";
}

// No program would run it, so a pick of it would be left out by every reader.
TEST_F(ProblemSweepTest, AVariantThatFailedAtAnotherProblemIsNoPick) {
  const SweepSummary first = sweep();
  ASSERT_EQ(first.picks.size(), 1U);
  const std::string picked = first.picks[0].tuned.variant;
  OutcomeRecord row = outcome_in(store_, gpu_record(devices_[0]));
  row.key.problem = *store_.problem_id("rmsnorm.forward", "rows=8 hidden=64 T=f32", 1, 1);
  row.variant = picked;
  row.outcome = row.check->outcome = Outcome::wrong;
  row.measurement.reset();
  ASSERT_TRUE(store_.record(row).ok());
  const SweepSummary again = sweep();
  ASSERT_EQ(again.picks.size(), 1U);
  EXPECT_NE(again.picks[0].tuned.variant, picked);
  EXPECT_NE(again.picks[0].tuned.variant, "");
}

TEST_F(ProblemSweepTest, ACacheThatCannotKeepBuildsIsNamedOnce) {
  const Variable full("FAKE_WORKER_NOT_CACHED", "cannot write /c/k.build: No space left on device");
  const SweepSummary summary = sweep();
  EXPECT_EQ(summary.evaluated, 6);
  EXPECT_THAT(summary.skipped,
              testing::ElementsAre("caching of builds: cannot write /c/k.build: No space left on "
                                   "device; a build that is not cached is compiled again for each "
                                   "use"));
}

TEST_F(ProblemSweepTest, NoMoreThanTheWindowIsAtWork) {
  options_.compile_processes = 1;
  options_.budget.evaluations = 12;
  EXPECT_EQ(sweep().evaluated, 12);
  std::size_t at_work = 0;  // compiled, not yet measured
  for (const WorkerEvent& event : events()) {
    if (event.event != "is") continue;
    at_work += event.kind == "compile" ? 1U : 0U;
    EXPECT_LE(at_work, 4U);  // two per compile process, two per GPU
    at_work -= event.kind == "measure" ? 1U : 0U;
  }
}

TEST_F(ProblemSweepTest, SeveralDevicesShareTheVariantsOfAProblem) {
  const Variable slow("FAKE_WORKER_MEASURE_MS", "100");
  use_three_devices();
  options_.compile_processes = 3;
  options_.budget.evaluations = 10;
  const SweepSummary summary = sweep();
  EXPECT_EQ(summary.evaluated, 10);
  std::set<std::string> devices;
  std::size_t at_work = 0;
  std::size_t most = 0;
  std::size_t measured = 0;
  for (const WorkerEvent& event : events()) {
    if (event.kind != "measure") continue;
    devices.insert(event.device);
    at_work = event.event == "is" ? at_work - 1 : at_work + 1;
    most = std::max(most, at_work);
    if (event.event == "is") ++measured;
  }
  EXPECT_EQ(devices, (std::set<std::string>{"cpu", "cpu-1", "cpu-2"}));
  EXPECT_EQ(most, 3U);
  EXPECT_EQ(measured, 10U) << "each once";
  EXPECT_EQ(store_.outcomes()->size(), 10U);
  EXPECT_EQ(store_.sweeps()->size(), 1U);
}

TEST_F(ProblemSweepTest, ADeviceThatIsNotWellIsLeftAloneAndSaidSo) {
  use_three_devices();
  devices_[1].id = "cpu-1-sick";
  devices_[1].name = "NVIDIA H200";
  devices_[1].index = 1;
  const Variable slow("FAKE_WORKER_MEASURE_MS", "50");
  const SweepSummary summary = sweep();
  EXPECT_EQ(summary.evaluated, 6);
  ASSERT_EQ(summary.skipped.size(), 1U);
  EXPECT_THAT(summary.skipped[0],
              testing::StartsWith("the GPU NVIDIA H200 (1): no measure worker begins its work"));
  EXPECT_THAT(summary.skipped[0], testing::HasSubstr("cpu-1-sick does not work"));
}

TEST_F(ProblemSweepTest, WithoutAnyDeviceThatIsWellTheSweepEnds) {
  devices_[0].id = "cpu-sick";
  const Result<SweepSummary> summary = run_sweep(
      options_, devices_, planned({problem_}), store_, [](const SweepProgress&) {},
      [] { return false; });
  EXPECT_EQ(summary.status().code(), StatusCode::environment);
  EXPECT_THAT(summary.status().message(), testing::HasSubstr("cpu-sick does not work"));
}

TEST_F(ProblemSweepTest, EveryDeviceIsLocked) {
  use_three_devices();
  const Result<DeviceLock> held = DeviceLock::acquire(folder_.path(), "cpu-1");
  ASSERT_TRUE(held.ok());
  const Result<SweepSummary> summary = run_sweep(
      options_, devices_, planned({problem_}), store_, [](const SweepProgress&) {},
      [] { return false; });
  EXPECT_EQ(summary.status().code(), StatusCode::environment);
  EXPECT_THAT(summary.status().message(), testing::HasSubstr("is using device cpu-1;"));
  EXPECT_TRUE(DeviceLock::acquire(folder_.path(), "cpu").ok()) << "given back";
}

TEST_F(ProblemSweepTest, ASecondSweepCompilesAndMeasuresNothing) {
  EXPECT_EQ(sweep().compiled, 6);
  const std::size_t before = events().size();
  const SweepSummary again = sweep();
  EXPECT_EQ(again.compiled, 0);
  EXPECT_EQ(again.reused, 6);
  EXPECT_EQ(events().size(), before);
}

TEST_F(ProblemSweepTest, WhoCrashesTheFinalIsARowAndContendsNoMore) {
  sweep();
  const std::string culprit = store_.finals()->front().final.finalists.front().variant;
  store_ = Store::open(folder_.file("other.db"), Store::Mode::read_write).value();
  devices_.front().id = "cpu final: crash at " + culprit;
  const auto expect_expelled = [&](SweepSummary summary) {
    EXPECT_EQ(summary.outcomes[Outcome::ok], 5);
    EXPECT_EQ(summary.outcomes[Outcome::crashed], 1);
    ASSERT_EQ(summary.picks.size(), 1U);
    EXPECT_NE(summary.picks[0].tuned.variant, culprit);
  };
  expect_expelled(sweep());
  std::size_t rows = 0;
  for (const OutcomeView& row : *store_.outcomes()) {
    if (row.variant != culprit) continue;
    ++rows;
    EXPECT_EQ(row.outcome, Outcome::crashed);
    EXPECT_THAT(row.message, testing::HasSubstr("in the final, "));
    EXPECT_EQ(row.check->outcome, Outcome::ok);
  }
  EXPECT_EQ(rows, 1U);
  const std::size_t before = events().size();
  expect_expelled(sweep());
  EXPECT_EQ(events().size(), before) << "it is known";
}

TEST_F(ProblemSweepTest, TimeThatIsOverEndsItWithTheDefaultMeasured) {
  const Variable slow("FAKE_WORKER_COMPILE_MS", "100");
  options_.budget.evaluations.reset();
  options_.budget.seconds = 0.001;
  options_.compile_processes = 1;
  const SweepSummary summary = sweep();
  EXPECT_TRUE(summary.ended_by_budget);
  EXPECT_FALSE(summary.stopped_early);
  EXPECT_EQ(summary.evaluated, 1);
  ASSERT_EQ(summary.picks.size(), 1U);
  EXPECT_EQ(summary.picks[0].tuned.variant, summary.picks[0].tuned.default_variant);
}

// What a search without rules starts with.
constexpr std::size_t kFirstRungs = 4;

TEST_F(ProblemSweepTest, AfterAFewRungsComeTheWinnersOfANeighbor) {
  const std::vector<std::string> others = beside_ladder();
  ASSERT_GT(others.size(), 20U);
  const std::vector<std::string> winners = {others[17], others[3], others[11]};
  record_neighbor({winners[0], winners[1], winners[2], others[5]});
  const std::size_t ladder = kFirstRungs;
  ASSERT_GE(Space(problem_, devices_[0].limits).ladder().size(), ladder);
  options_.strategy = "adaptive";
  options_.compile_processes = 1;
  options_.budget.evaluations = static_cast<std::int64_t>(ladder + 4);
  EXPECT_EQ(sweep().evaluated, static_cast<std::int64_t>(ladder + 4));
  const std::vector<std::string> variants = measured();
  ASSERT_EQ(variants.size(), ladder + 4);
  const auto first = variants.begin() + static_cast<std::ptrdiff_t>(ladder);
  EXPECT_THAT(std::vector<std::string>(first, first + 3), testing::ElementsAreArray(winners));
}

TEST_F(ProblemSweepTest, AProblemStartsFromTheOneBeforeItInTheSweep) {
  const Space space(problem_, devices_[0].limits);
  const std::string fast = beside_ladder()[9];
  const Variable named("FAKE_WORKER_FAST", fast);
  options_.strategy = "adaptive";
  options_.compile_processes = 1;
  options_.budget.evaluations = static_cast<std::int64_t>(count_variants(space));
  const Problem next =
      bind_problem(*problem_.op, {{"rows", "8"}, {"hidden", "64"}, {"T", "f32"}}).value();
  sweep({problem_, next});
  const std::vector<std::string> variants = measured();
  ASSERT_EQ(variants.size(), 2 * count_variants(space));
  EXPECT_EQ(variants[count_variants(space) + kFirstRungs], fast);
}

// The budget leaves the last problem its default alone; the fastest variant of the others is
// measured there all the same.
TEST_F(ProblemSweepTest, ASweepForRulesMeasuresAtEachProblemWhatIsGoodAtOthers) {
  const Space space(problem_, devices_[0].limits);
  const std::string fast = variant_text(*problem_.op, space.ladder()[2]);
  const Variable named("FAKE_WORKER_FAST", fast);
  options_.for_rules = true;
  options_.strategy = "adaptive";  // begins with the ladder
  std::vector<Problem> problems;
  for (const char* rows : {"4", "8", "16"}) {
    problems.push_back(
        bind_problem(*problem_.op, {{"rows", rows}, {"hidden", "64"}, {"T", "f32"}}).value());
  }
  sweep(problems);
  const std::size_t before = measured().size();
  problems.push_back(
      bind_problem(*problem_.op, {{"rows", "32"}, {"hidden", "64"}, {"T", "f32"}}).value());
  options_.budget.evaluations = 1;
  EXPECT_EQ(sweep(problems).evaluated, 2);
  ASSERT_EQ(measured().size(), before + 2);
  EXPECT_THAT(measured(), testing::Contains(fast).Times(4)) << "once at each problem";
}

TEST_F(ProblemSweepTest, ASecondAdaptiveSweepOfSeveralProblemsHasNothingToDo) {
  options_.strategy = "adaptive";
  options_.compile_processes = 2;
  options_.budget.evaluations = 20;
  const std::vector<Problem> problems = {problem_, neighbor()};
  const SweepSummary first = sweep(problems);
  const std::size_t before = events().size();
  const SweepSummary again = sweep(problems);
  EXPECT_EQ(again.compiled, 0);
  EXPECT_EQ(again.evaluated, 0);
  EXPECT_EQ(again.reused, first.evaluated);
  EXPECT_EQ(again.outcomes, first.outcomes);
  EXPECT_EQ(events().size(), before);
  // A larger number is what is still to do.
  options_.budget.evaluations = 30;
  const SweepSummary more = sweep({problem_});
  EXPECT_EQ(more.reused, 20);
  EXPECT_EQ(more.evaluated, 10);
}

TEST_F(ProblemSweepTest, ATargetEndsIt) {
  options_.strategy = "random";
  options_.budget = Budget();
  options_.target = 0.98;
  const SweepSummary summary = sweep();
  const auto variants =
      static_cast<std::int64_t>(count_variants(Space(problem_, devices_[0].limits)));
  ASSERT_EQ(summary.settled.size(), 1U);
  EXPECT_EQ(summary.settled[0].problem, "rmsnorm.forward rows=4 hidden=64 T=f32");
  EXPECT_EQ(summary.settled[0].done, summary.evaluated);
  EXPECT_EQ(summary.settled[0].total, variants);
  EXPECT_LT(summary.evaluated, variants);
  EXPECT_GT(summary.evaluated, variants / 2);
  EXPECT_FALSE(summary.stopped_early);
  EXPECT_EQ(summary.picks.size(), 1U);

  const SweepSummary again = sweep();
  EXPECT_EQ(again.evaluated, 0) << "a target that is reached stays reached";
  EXPECT_EQ(again.settled.size(), 1U);
}

TEST_F(ProblemSweepTest, TimeThatAProblemDoesNotNeedGoesToTheOthers) {
  sweep({neighbor()});
  // Now the neighbor, which moves fewer bytes, is done at once. The other takes 3.6 s of 6.
  const Variable slow("FAKE_WORKER_MEASURE_MS", "600");
  options_.compile_processes = 2;
  options_.budget.seconds = 6;
  const auto begin = std::chrono::steady_clock::now();
  const SweepSummary summary = sweep({problem_, neighbor()});
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  EXPECT_THAT(order_, testing::ElementsAre(1, 0));
  // On a slow machine the time is over before, but not when an equal share of it, 3 s, is over.
  EXPECT_TRUE(summary.evaluated >= 6 || taken.count() > 4.5)
      << summary.evaluated << " variants in " << taken.count() << " s";
  EXPECT_EQ(summary.ended_by_budget, summary.evaluated < 6);
  EXPECT_EQ(summary.reused, 6);
  EXPECT_EQ(summary.picks.size(), 2U);
}

}  // namespace
}  // namespace mgtune

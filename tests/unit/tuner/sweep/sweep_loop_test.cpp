// Problems of a sweep that overlap: what the next one does while one ends, and that it changes no
// result. Events of the workers' log are counted, no times.

#include "sweep/sweep_loop.h"

#include <iterator>
#include <numeric>

#include "tests/helpers/problem_sweep_fixture.h"

namespace mgtune {
namespace {

class SweepLoopTest : public ProblemSweepTest {
 protected:
  Problem with_rows(const std::string& rows) const {
    return bind_problem(*problem_.op, {{"rows", rows}, {"hidden", "64"}, {"T", "f32"}}).value();
  }

  static std::string word_of(const Problem& problem) {
    std::string text = problem.text();
    std::ranges::replace(text, ' ', ',');
    return text;
  }

  // The place of the first such event; the number of events if there is none.
  static std::size_t place_of(const std::vector<WorkerEvent>& events, const std::string& kind,
                              const std::string& event, const Problem& problem) {
    const auto found = std::ranges::find_if(events, [&](const WorkerEvent& e) {
      return e.kind == kind && e.event == event && e.problem == word_of(problem);
    });
    return static_cast<std::size_t>(found - events.begin());
  }

  std::vector<std::string> measured_of(const Problem& problem) const {
    std::vector<std::string> variants;
    for (const WorkerEvent& event : events()) {
      if (event.kind == "measure" && event.event == "begins" && event.problem == word_of(problem)) {
        variants.push_back(event.variant);
      }
    }
    return variants;
  }

  // What a program sees: the outcome of each variant, and each pick.
  static std::set<std::string> results_of(Store& store) {
    std::set<std::string> results;
    for (const OutcomeView& row : store.outcomes().value()) {
      const double ns = row.measurement.has_value() ? row.measurement->median_ns : 0;
      results.insert(row.problem + ": " + row.variant + " " + std::string(to_string(row.outcome)) +
                     " " + std::to_string(ns));
    }
    for (const TunedView& pick : store.tuned().value()) {
      results.insert(pick.problem + " picks " + pick.tuned.variant);
    }
    return results;
  }
};

TEST_F(SweepLoopTest, TheNextProblemCompilesWhileTheFinalOfOneIsHeld) {
  options_.compile_processes = 2;
  const Variable until("FAKE_WORKER_FINAL_AFTER", "4 compile is done 0 cpu " + word_of(neighbor()));
  const SweepSummary summary = sweep({problem_, neighbor()});
  EXPECT_EQ(summary.evaluated, 12);
  EXPECT_EQ(summary.compiled, 12);
  EXPECT_EQ(summary.picks.size(), 2U);
  const std::vector<WorkerEvent> all = events();
  const std::size_t over = place_of(all, "final", "is", problem_);
  ASSERT_LT(over, all.size());
  EXPECT_LT(place_of(all, "compile", "begins", neighbor()), over);
  EXPECT_GT(place_of(all, "measure", "begins", neighbor()), over)
      << "the only GPU stays with a problem until its pick";
}

TEST_F(SweepLoopTest, TheNextProblemCompilesWhileTheLastVariantsAreMeasured) {
  options_.compile_processes = 2;
  const Variable slow("FAKE_WORKER_MEASURE_MS", "100");  // longer than a message takes
  sweep({problem_, neighbor()});
  const std::vector<WorkerEvent> all = events();
  const auto last = std::find_if(all.rbegin(), all.rend(), [&](const WorkerEvent& e) {
    return e.kind == "measure" && e.event == "is" && e.problem == word_of(problem_);
  });
  EXPECT_LT(place_of(all, "compile", "begins", neighbor()),
            static_cast<std::size_t>(all.rend() - last));
}

TEST_F(SweepLoopTest, OtherGpusMeasureTheNextProblemWhileTheFirstHoldsAFinal) {
  use_three_devices();
  options_.compile_processes = 3;
  const Variable until("FAKE_WORKER_FINAL_AFTER", "12 measure is");
  const SweepSummary summary = sweep({problem_, neighbor()});
  EXPECT_EQ(summary.evaluated, 12);
  const std::vector<WorkerEvent> all = events();
  const auto over =
      all.begin() + static_cast<std::ptrdiff_t>(place_of(all, "final", "is", problem_));
  std::vector<WorkerEvent> ahead;
  std::copy_if(all.begin(), over, std::back_inserter(ahead), [&](const WorkerEvent& e) {
    return e.kind == "measure" && e.problem == word_of(neighbor());
  });
  ASSERT_EQ(ahead.size(), 12U) << "the final was over when all six were measured";
  for (const WorkerEvent& event : ahead) {
    EXPECT_NE(event.device, "cpu") << "the first GPU is at the other problem";
  }
  EXPECT_EQ(ahead[0].variant, ahead[1].variant) << "nothing beside the default";
  EXPECT_EQ(ahead[1].event, "is");
}

// Nothing waits for the ceilings of a problem but their GPU.
TEST_F(SweepLoopTest, OtherGpusMeasureTheProblemWhileTheFirstMeasuresItsCeilings) {
  use_three_devices();
  for (DeviceInfo& device : devices_) device.kind = DeviceKind::cuda;
  options_.method = {"rotating", ""};
  options_.compile_processes = 3;
  const Variable until("FAKE_WORKER_CEILING_AFTER", "6 measure is");
  const SweepSummary summary = sweep();
  EXPECT_EQ(summary.evaluated, 6);
  const std::vector<WorkerEvent> all = events();
  const auto over = std::ranges::find_if(
      all, [](const WorkerEvent& e) { return e.kind == "ceiling" && e.event == "is"; });
  std::vector<WorkerEvent> beside;
  std::copy_if(all.begin(), over, std::back_inserter(beside),
               [](const WorkerEvent& e) { return e.kind == "measure"; });
  ASSERT_EQ(beside.size(), 12U) << "the ceiling was done when all six were measured";
  for (const WorkerEvent& event : beside) EXPECT_NE(event.device, "cpu") << "it measures a ceiling";
  EXPECT_EQ(beside[0].variant, beside[1].variant) << "nothing beside the default";
  EXPECT_EQ(beside[1].event, "is");
}

TEST_F(SweepLoopTest, APickIsTheSameAsWithoutTheOtherProblems) {
  const std::vector<std::string> others = beside_ladder();
  const Variable fast("FAKE_WORKER_FAST", others[2]);
  const std::vector<Problem> problems = {problem_, with_rows("8"), neighbor(), with_rows("16")};
  for (const std::size_t devices : {1U, 3U}) {
    devices_.resize(1);
    if (devices == 3) use_three_devices();
    options_.compile_processes = 3;
    options_.budget.evaluations = 40;
    const std::string name = std::to_string(devices);
    store_ = Store::open(folder_.file(name + ".db"), Store::Mode::read_write).value();
    sweep(problems);
    const std::set<std::string> together = results_of(store_);
    store_ = Store::open(folder_.file(name + "-one.db"), Store::Mode::read_write).value();
    for (const Problem& problem : problems) sweep({problem});
    EXPECT_EQ(together, results_of(store_)) << devices;
  }
}

// A warm start knows the pick of the problem before, so a search that starts warm waits for it.
TEST_F(SweepLoopTest, ASearchThatStartsWarmWorksAheadOnItsFirstVariantsOnly) {
  options_.strategy = "adaptive";
  options_.compile_processes = 8;
  const std::size_t rungs =
      std::min<std::size_t>(4, Space(neighbor(), devices_[0].limits).ladder().size());
  ASSERT_GT(rungs, 0U);
  const Variable until("FAKE_WORKER_FINAL_AFTER", "1 compile is done 0 cpu " + word_of(neighbor()));
  sweep({problem_, neighbor()});
  const std::vector<WorkerEvent> all = events();
  const std::size_t over = place_of(all, "final", "is", problem_);
  std::size_t compiled = 0;
  for (std::size_t i = 0; i < over; ++i) {
    compiled += all[i].kind == "compile" && all[i].event == "begins" &&
                all[i].problem == word_of(neighbor());
  }
  EXPECT_GE(compiled, 1U);
  EXPECT_LE(compiled, rungs) << "the rungs that every search starts with";
  EXPECT_EQ(measured_of(neighbor()).size(), 6U);
}

TEST_F(SweepLoopTest, ABuildOfTwoProblemsCompilesOnceAtATime) {
  options_.compile_processes = 2;
  options_.budget.evaluations = 2;
  const Problem next = with_rows("8");  // rows are not compiled in
  const SweepSummary summary = sweep({problem_, next});
  EXPECT_EQ(summary.evaluated, 4);
  EXPECT_EQ(summary.compiled, 2);
  EXPECT_EQ(count(events(), "compile"), 4U) << "two begin, two are done";
}

TEST_F(SweepLoopTest, AVariantThatEndsWorkersAheadOfItsTurnIsRecordedAsInItsTurn) {
  use_three_devices();
  options_.compile_processes = 3;
  sweep({neighbor()});
  const std::string killer = measured().at(3);
  store_ = Store::open(folder_.file("other.db"), Store::Mode::read_write).value();
  const Variable killed("FAKE_WORKER_KILLED", killer);
  const SweepSummary summary = sweep({problem_, neighbor()});
  EXPECT_EQ(summary.evaluated, 12);
  EXPECT_EQ(summary.picks.size(), 2U);
  std::size_t crashed = 0;
  for (const OutcomeView& row : *store_.outcomes()) {
    EXPECT_EQ(row.outcome == Outcome::crashed, row.variant == killer) << row.variant;
    crashed += row.outcome == Outcome::crashed;
  }
  EXPECT_GE(crashed, 1U);
}

TEST_F(SweepLoopTest, WhenTheTimeIsOverNoFurtherProblemBegins) {
  const Variable slow("FAKE_WORKER_COMPILE_MS", "30");
  options_.budget.evaluations.reset();
  options_.budget.seconds = 0.001;
  options_.compile_processes = 1;
  const SweepSummary summary = sweep({problem_, neighbor()});
  EXPECT_TRUE(summary.ended_by_budget);
  EXPECT_EQ(summary.evaluated, 1) << "the first default has its result";
  EXPECT_EQ(summary.picks.size(), 1U);
  EXPECT_EQ(order_.size(), 1U);
  ASSERT_TRUE(summary.budget_use.has_value());
  EXPECT_EQ(summary.budget_use->not_begun, 1);
  EXPECT_EQ(summary.budget_use->defaults, 1);
}

TEST_F(SweepLoopTest, ThePhasesOfEachGpuAddUpToTheWallTime) {
  use_three_devices();
  options_.compile_processes = 2;
  const SweepTimes times = sweep({problem_, neighbor()}).times;
  ASSERT_EQ(times.gpus.size(), 3U);
  EXPECT_EQ(times.gpus[1].device, "cpu-1");
  EXPECT_EQ(times.compile_processes, 2U);
  EXPECT_GT(times.compile_seconds, 0);
  const auto of = [&](std::size_t gpu, GpuPhase phase) {
    return times.gpus[gpu].times[static_cast<std::size_t>(phase)].count();
  };
  for (const SweepTimes::Gpu& gpu : times.gpus) {
    EXPECT_EQ(std::accumulate(gpu.times.begin(), gpu.times.end(), GpuTimes::Clock::duration()),
              times.wall);
  }
  EXPECT_GT(of(0, GpuPhase::measure), 0);
  EXPECT_GT(of(0, GpuPhase::final), 0);
  EXPECT_EQ(of(1, GpuPhase::final), 0) << "the first GPU decides";
  for (const std::size_t gpu : {0U, 1U, 2U}) {
    EXPECT_GT(of(gpu, GpuPhase::wait_compile), 0) << "for the default's build";
    EXPECT_EQ(of(gpu, GpuPhase::failed), 0);
  }
  // Nobody else writes while the default's row is written.
  EXPECT_GT(of(1, GpuPhase::store) + of(2, GpuPhase::store), 0);
}

}  // namespace
}  // namespace mgtune

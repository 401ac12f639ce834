// Problems of a sweep that overlap: what the next one does while one ends, and that it changes no
// result. Events of the workers' log are counted, no times.

#include "sweep/sweep_loop.h"

#include <filesystem>
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

// Opening a GPU takes as long as a compile or longer, so it does not come after it.
TEST_F(SweepLoopTest, MeasureWorkersStartWhileTheFirstVariantCompiles) {
  const Variable starts("FAKE_WORKER_STARTS", folder_.file("starts"));
  const Variable after("FAKE_WORKER_COMPILE_AFTER_START", "cpu");
  const SweepSummary summary = sweep();
  EXPECT_EQ(summary.outcomes.at(Outcome::ok), 6);
  std::filesystem::remove(folder_.file("starts"));
  sweep();
  EXPECT_FALSE(std::filesystem::exists(folder_.file("starts"))) << "all results are known";
}

// The finals of two problems have a GPU each, and the third problem has its turn on the last one.
TEST_F(SweepLoopTest, OtherProblemsHaveTheirTurnsWhileFinalsAreHeld) {
  use_three_devices();
  options_.compile_processes = 3;
  const Variable until("FAKE_WORKER_FINAL_AFTER", "18 measure is");
  const SweepSummary summary = sweep({problem_, with_rows("8"), neighbor()});
  EXPECT_EQ(summary.evaluated, 18);
  EXPECT_EQ(summary.picks.size(), 3U);
  std::set<std::string> devices;
  std::size_t measured = 0;
  for (const WorkerEvent& event : events()) {
    if (event.kind == "final" && event.event == "begins") devices.insert(event.device);
    if (event.kind == "final" && event.event == "is") {
      EXPECT_EQ(measured, 18U);
    }
    measured += event.kind == "measure" && event.event == "is";
  }
  EXPECT_GE(devices.size(), 2U);
}

// A sweep that ends while a final is held has a pick, and others start with it.
TEST_F(SweepLoopTest, UntilItsFinalIsOverAProblemHasAPickOfSingleMeasurements) {
  const std::string fast = beside_ladder()[2];
  const Variable named("FAKE_WORKER_FAST", fast);
  options_.budget.evaluations.reset();
  const Variable until("FAKE_WORKER_FINAL_AFTER", "1 compile is done 0 cpu " + word_of(neighbor()));
  const Problem next = neighbor();
  std::string before;
  const auto note = [&](const SweepProgress& progress) {
    const std::vector<TunedView> tuned = store_.tuned().value();
    if (progress.problem_index == 1 && !tuned.empty()) before = tuned.front().tuned.variant;
  };
  const auto stop = [&] { return !before.empty(); };
  const Result<SweepSummary> summary =
      run_sweep(options_, devices_, planned({problem_, next}), store_, note, stop);
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(before, fast);
  EXPECT_TRUE(summary->stopped_early);
}

TEST_F(SweepLoopTest, WithCountersTheFirstGpuHasNothingElseToDo) {
  use_three_devices();
  options_.compile_processes = 3;
  options_.counters = true;
  sweep({problem_, neighbor()});
  const std::vector<WorkerEvent> all = events();
  bool is_counted = false;
  for (const WorkerEvent& event : all) {
    is_counted = is_counted || (event.kind == "count" && event.event == "is");
    const bool is_next = event.kind == "measure" && event.problem == word_of(neighbor());
    EXPECT_TRUE(is_counted || !is_next || event.device != "cpu") << event.variant;
  }
  EXPECT_TRUE(is_counted);
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

// How long a measurement took decides how many of them wait at a worker, and nothing else.
TEST_F(SweepLoopTest, ResultsAndTheirOrderAreTheSameHoweverManyVariantsWaitAtAWorker) {
  const Variable fast("FAKE_WORKER_FAST", beside_ladder()[2]);
  options_.compile_processes = 1;  // so that builds come in the order of the search
  options_.budget.evaluations = 24;
  std::set<std::string> results;
  std::vector<std::string> order;  // on one GPU
  for (const char* text : {"", "0.001", "0.008"}) {
    const Variable took("FAKE_WORKER_SECONDS", text);
    std::filesystem::remove(folder_.file("log"));
    store_ = Store::open(folder_.file(std::string(text) + ".db"), Store::Mode::read_write).value();
    EXPECT_EQ(sweep({problem_, neighbor()}).evaluated, 48);
    if (order.empty()) {
      order = measured();
      results = results_of(store_);
    }
    EXPECT_EQ(measured(), order) << text;
    EXPECT_EQ(results_of(store_), results) << text;
  }
}

// Those that wait at workers count among the variants that are between search and result.
TEST_F(SweepLoopTest, TheWindowIsTheSameHoweverManyVariantsWaitAtAWorker) {
  const Variable took("FAKE_WORKER_SECONDS", "0.001");
  options_.compile_processes = 1;
  options_.budget.evaluations = 40;
  sweep();
  const std::size_t window = 2 * 1 + 2 * 1;
  std::size_t wanted = 0, done = 0, most = 0;
  for (const WorkerEvent& event : events()) {
    wanted += event.kind == "compile" && event.event == "begins";
    done += event.kind == "measure" && event.event == "is";
    most = std::max(most, wanted - std::min(wanted, done));
  }
  EXPECT_EQ(done, 40U);
  EXPECT_LE(most, window);
}

// From 100 results on a search thinks on a thread of its own.
TEST_F(SweepLoopTest, TheLoopWaitsForASearchThatThinksWhenNothingElseIsLeft) {
  const Variable spread("FAKE_WORKER_SPREAD", "yes");
  options_.strategy = "adaptive";
  options_.method = {"rotating", ""};
  options_.compile_processes = 1;
  options_.budget.evaluations = 160;
  problem_ = bind_problem(*problem_.op, {{"rows", "4"}, {"hidden", "4096"}, {"T", "f32"}}).value();
  const SweepSummary summary = sweep({problem_, neighbor()});
  EXPECT_EQ(measured_of(problem_).size(), 160U);
  EXPECT_EQ(summary.picks.size(), 2U);
  EXPECT_EQ(summary.unfound, 0);
}

TEST_F(SweepLoopTest, ASweepThatIsToldToStopRecordsWhatWaitsAtWorkersAndBeginsNothingElse) {
  const Variable took("FAKE_WORKER_SECONDS", "0.001");
  const Variable slow("FAKE_WORKER_MEASURE_MS", "20");  // so that builds are ready before
  options_.compile_processes = 4;
  options_.budget.evaluations.reset();
  std::int64_t done = 0;
  const auto note = [&](const SweepProgress& progress) { done = progress.done; };
  const Result<SweepSummary> summary =
      run_sweep(options_, devices_, planned({problem_}), store_, note, [&] { return done >= 5; });
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_TRUE(summary->stopped_early);
  const std::vector<std::string> begun = measured();
  EXPECT_LE(begun.size(), 5 + kMostRequests);
  EXPECT_EQ(summary->evaluated, std::ssize(begun));
  EXPECT_EQ(store_.outcomes()->size(), begun.size());
}

// A warm start knows the results of the problem before, so a search that starts warm waits for
// them.
TEST_F(SweepLoopTest, ASearchThatStartsWarmWorksAheadOnItsFirstVariantsOnly) {
  options_.strategy = "adaptive";
  options_.compile_processes = 8;
  const std::size_t rungs =
      std::min<std::size_t>(4, Space(neighbor(), devices_[0].limits).ladder().size());
  ASSERT_GT(rungs, 0U);
  const Variable slow("FAKE_WORKER_MEASURE_MS", "100");  // longer than a message takes
  sweep({problem_, neighbor()});
  const std::vector<WorkerEvent> all = events();
  const auto last = std::find_if(all.rbegin(), all.rend(), [&](const WorkerEvent& e) {
    return e.kind == "measure" && e.event == "is" && e.problem == word_of(problem_);
  });
  const auto compiled = std::count_if(last, all.rend(), [&](const WorkerEvent& e) {
    return e.kind == "compile" && e.event == "begins" && e.problem == word_of(neighbor());
  });
  EXPECT_GE(compiled, 1);
  EXPECT_LE(compiled, static_cast<std::ptrdiff_t>(rungs))
      << "the rungs that every search starts with";
  EXPECT_EQ(measured_of(neighbor()).size(), 6U);
}

// But not for the final, so that it is the same whenever that ends.
TEST_F(SweepLoopTest, ASearchThatStartsWarmDoesNotWaitForTheFinalOfTheProblemBefore) {
  options_.strategy = "adaptive";
  options_.compile_processes = 1;  // so that variants are measured in the order of the search
  options_.budget.evaluations.reset();
  const std::string fast = beside_ladder().back();
  const Variable named("FAKE_WORKER_FAST", fast);
  const std::size_t all = all_variants(Space(problem_, devices_[0].limits)).size();
  devices_.resize(2, devices_.front());
  devices_[1].id = "cpu-1";
  const Variable until("FAKE_WORKER_FINAL_AFTER", std::to_string(2 * all) + " measure is");
  const Problem next = with_rows("16");
  EXPECT_EQ(sweep({problem_, next}).evaluated, static_cast<std::int64_t>(2 * all));
  const std::vector<std::string> measured = measured_of(next);
  const auto place = std::ranges::find(measured, fast) - measured.begin();
  EXPECT_LT(place, 8) << "of " << all << ": it comes right behind the rungs";
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
  EXPECT_GT(of(0, GpuPhase::final) + of(1, GpuPhase::final) + of(2, GpuPhase::final), 0);
  for (const std::size_t gpu : {0U, 1U, 2U}) {
    EXPECT_GT(of(gpu, GpuPhase::wait_compile), 0) << "for the default's build";
    EXPECT_EQ(of(gpu, GpuPhase::failed), 0);
  }
  // Nobody else writes while the default's row is written.
  EXPECT_GT(of(1, GpuPhase::store) + of(2, GpuPhase::store), 0);
}

}  // namespace
}  // namespace mgtune

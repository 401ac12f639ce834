// Sweeps whose measure workers are killed, and what --retry tries again.

#include <filesystem>

#include "sweep/problem_sweep.h"
#include "tests/helpers/problem_sweep_fixture.h"

namespace mgtune {
namespace {

class KilledWorkerTest : public ProblemSweepTest {
 protected:
  // The variants that a sweep measures, in its order. This sweep writes to another store.
  std::vector<std::string> all_measured() {
    std::swap(store_, other_);
    sweep();
    std::swap(store_, other_);
    return measured();
  }

  Result<SweepSummary> run() {
    return run_sweep(
        options_, devices_, planned({problem_}), store_, [](const SweepProgress&) {},
        [] { return false; });
  }

  void expect_killers(const std::string& killer, std::size_t crashed) {
    std::size_t found = 0;
    for (const OutcomeView& row : *store_.outcomes()) {
      if (row.outcome == Outcome::ok) continue;
      ++found;
      EXPECT_EQ(row.outcome, Outcome::crashed) << row.message;
      EXPECT_THAT(row.variant, testing::HasSubstr(killer));
      EXPECT_THAT(row.message, testing::HasSubstr("the measure worker was killed by signal 9"));
    }
    EXPECT_EQ(found, crashed);
  }

  Store other_ = Store::open(folder_.file("other.db"), Store::Mode::read_write).value();
};

TEST_F(KilledWorkerTest, AVariantThatEndsTheWorkerCostsThatVariant) {
  const std::vector<std::string> all = all_measured();
  for (const std::size_t place : {std::size_t{0}, std::size_t{3}}) {  // the default, and another
    store_ =
        Store::open(folder_.file(std::to_string(place) + ".db"), Store::Mode::read_write).value();
    const Variable killed("FAKE_WORKER_KILLED", all[place]);
    const SweepSummary summary = sweep();
    EXPECT_EQ(summary.evaluated, 6) << all[place];
    EXPECT_EQ(summary.outcomes.at(Outcome::ok), 5);
    EXPECT_EQ(summary.picks.size(), 1U);
    expect_killers(all[place], 1);
    const std::size_t before = events().size();
    EXPECT_EQ(sweep().reused, 6) << "it is known";
    EXPECT_EQ(events().size(), before);
  }
}

TEST_F(KilledWorkerTest, NothingCompilesWhileAVariantIsMeasuredAlone) {
  const std::string killer = all_measured()[0];
  std::filesystem::remove(folder_.file("log"));
  const Variable killed("FAKE_WORKER_KILLED", killer);
  const Variable slow("FAKE_WORKER_COMPILE_MS", "100");
  options_.compile_processes = 3;
  sweep();
  int compiling = 0;
  int tries = 0;
  for (const WorkerEvent& event : events()) {
    if (event.kind == "compile") compiling += event.event == "begins" ? 1 : -1;
    if (event.kind != "measure" || event.variant != killer) continue;
    if (++tries > 2) {
      EXPECT_EQ(compiling, 0) << "in try " << tries;
    }
  }
  EXPECT_EQ(tries, 4);
}

TEST_F(KilledWorkerTest, WhereOnlyVariantsEndTheWorkerTheyAreToBlame) {
  options_.budget.evaluations = 3;
  const Variable killed("FAKE_WORKER_KILLED", "=");  // every variant, but no probe
  const SweepSummary summary = sweep();
  EXPECT_EQ(summary.outcomes.at(Outcome::crashed), 3);
  expect_killers("=", 3);
}

TEST_F(KilledWorkerTest, WhereEveryWorkerIsEndedTheMachineIsToBlame) {
  options_.budget.evaluations = 3;
  const Variable killed("FAKE_WORKER_KILLED", "everything");
  const Result<SweepSummary> summary = run();
  EXPECT_EQ(summary.status().code(), StatusCode::environment);
  EXPECT_THAT(summary.status().message(), testing::HasSubstr("nothing is recorded"));
  EXPECT_TRUE(store_.outcomes()->empty());
}

TEST_F(KilledWorkerTest, ManyVariantsInARowThatEndTheWorkerAreTheMachine) {
  options_.budget.evaluations = 20;
  const Variable killed("FAKE_WORKER_KILLED", "=");
  const Result<SweepSummary> summary = run();
  EXPECT_EQ(summary.status().code(), StatusCode::environment);
  EXPECT_THAT(summary.status().message(), testing::HasSubstr("last 8 variants"));
  EXPECT_TRUE(store_.outcomes()->empty());
}

TEST_F(KilledWorkerTest, WhatFailedIsTriedAgainIfAskedFor) {
  const std::vector<std::string> all = all_measured();
  {
    const Variable killed("FAKE_WORKER_KILLED", all[2]);
    const Variable broken("FAKE_WORKER_BROKEN", all[4]);
    const SweepSummary summary = sweep();
    EXPECT_EQ(summary.outcomes.at(Outcome::crashed), 1);
    EXPECT_EQ(summary.outcomes.at(Outcome::compile_failed), 1);
  }
  EXPECT_EQ(sweep().reused, 6) << "nobody asked";
  options_.retry = {Outcome::compile_failed};
  SweepSummary summary = sweep();
  EXPECT_EQ(summary.evaluated, 1);
  EXPECT_EQ(summary.outcomes.at(Outcome::ok), 5);
  options_.retry = {Outcome::crashed, Outcome::timeout};
  summary = sweep();
  EXPECT_EQ(summary.evaluated, 1);
  EXPECT_EQ(summary.outcomes.at(Outcome::ok), 6);
  EXPECT_EQ(sweep().evaluated, 0) << "there is no such row any more";
  for (const OutcomeView& row : *store_.outcomes()) EXPECT_EQ(row.outcome, Outcome::ok);
}

TEST_F(KilledWorkerTest, WhatFailsAgainIsTriedOncePerSweep) {
  const std::vector<std::string> all = all_measured();
  const Variable broken("FAKE_WORKER_BROKEN", all[4]);
  sweep();
  options_.retry = {Outcome::compile_failed};
  EXPECT_EQ(sweep().evaluated, 1);
  EXPECT_EQ(sweep().evaluated, 1);
}

}  // namespace
}  // namespace mgtune

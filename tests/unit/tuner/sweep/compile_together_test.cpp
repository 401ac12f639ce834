// Sweeps whose compile workers get several variants at a time: which sweeps these are, and that
// their results are those of other sweeps.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "compile/group_size.h"
#include "sweep/sweep_loop.h"
#include "tests/helpers/problem_sweep_fixture.h"

namespace mgtune {
namespace {

using testing::IsEmpty;

class CompileTogetherTest : public ProblemSweepTest {
 protected:
  CompileTogetherTest() {
    devices_[0].kind = DeviceKind::cuda;  // as far as the loop can tell: its workers are fakes
    devices_[0].arch = "sm_90";
    options_.method = {"rotating", ""};
    options_.budget.evaluations.reset();
    options_.compile_processes = 2;
    problem_ =
        bind_problem(*problem_.op, {{"rows", "4"}, {"hidden", "4096"}, {"T", "f32"}}).value();
  }

  // What the compile workers were given together.
  std::vector<std::string> groups() const {
    std::vector<std::string> all;
    std::ifstream file(folder_.file("groups"));
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }

  static std::size_t size_of(const std::string& group) {
    return 1 + static_cast<std::size_t>(std::ranges::count(group, '+'));
  }

  // Variants between the beginning of their compile and the end of their measurement.
  std::size_t most_at_work() const {
    std::size_t wanted = 0, done = 0, most = 0;
    for (const WorkerEvent& event : events()) {
      wanted += event.kind == "compile" && event.event == "begins";
      done += event.kind == "measure" && event.event == "is";
      most = std::max(most, wanted - std::min(wanted, done));
    }
    return most;
  }

  std::set<std::string> results() {
    std::set<std::string> all;
    for (const OutcomeView& row : store_.outcomes().value()) {
      // Which ones lose the race depends on the order.
      const bool passed = row.outcome == Outcome::ok || row.outcome == Outcome::raced_out;
      all.insert(row.variant + (passed ? " passed" : " failed"));
    }
    return all;
  }

  const Variable groups_{"FAKE_WORKER_GROUPS", folder_.file("groups")};
  const Variable seconds_{"FAKE_WORKER_COMPILE_SECONDS", "0.125"};
  const Variable spread_{"FAKE_WORKER_SPREAD", "yes"};
};

TEST_F(CompileTogetherTest, AnExhaustiveSweepCompilesLightVariantsTogether) {
  const std::size_t all = all_variants(Space(problem_, devices_[0].limits)).size();
  ASSERT_GT(all, 100U);
  EXPECT_EQ(sweep().evaluated, static_cast<std::int64_t>(all));
  const std::vector<std::string> together = groups();
  ASSERT_FALSE(together.empty());
  std::size_t largest = 0, grouped = 0;
  for (const std::string& group : together) {
    largest = std::max(largest, size_of(group));
    grouped += size_of(group);
  }
  EXPECT_GE(largest, 4U);
  EXPECT_LE(largest, kMostTogether);
  EXPECT_GT(grouped, all / 2);

  const std::set<std::string> of_groups = results();
  EXPECT_EQ(of_groups.size(), all);
  std::filesystem::remove(folder_.file("groups"));
  store_ = Store::open(folder_.file("other.db"), Store::Mode::read_write).value();
  const Variable unknown("FAKE_WORKER_COMPILE_SECONDS", "");
  sweep();
  EXPECT_THAT(groups(), IsEmpty());
  EXPECT_EQ(results(), of_groups);
}

TEST_F(CompileTogetherTest, HeavyVariantsLeaveTheWindowAsItIs) {
  const Variable heavy("FAKE_WORKER_COMPILE_SECONDS", "0.75");
  options_.budget.evaluations = 60;
  sweep();
  EXPECT_THAT(groups(), IsEmpty());
  EXPECT_LE(most_at_work(), 2 * 2 + 2 * 1U);
}

// Every other variant of this space is one of these, so the mean of all is long too.
TEST_F(CompileTogetherTest, AVariantThatIsLikelyToTakeLongHasAWorkerForItself) {
  const char* const kLong = " PDL=true";
  const Variable slow("FAKE_WORKER_LONG", kLong);
  sweep();
  std::ptrdiff_t of_light = 0, mixed = 0;
  for (const std::string& group : groups()) {
    ++(group.find(kLong) == std::string::npos ? of_light : mixed);
  }
  EXPECT_GT(of_light, 20);
  EXPECT_LT(mixed, of_light / 4) << "before it was known which ones take long";
}

TEST_F(CompileTogetherTest, WhoLearnsFromResultsWantsEachAsSoonAsPossible) {
  options_.compile_processes = 1;
  options_.budget.evaluations = 80;
  for (const char* strategy : {"adaptive", "random"}) {
    store_ =
        Store::open(folder_.file(std::string(strategy) + ".db"), Store::Mode::read_write).value();
    options_.strategy = strategy;
    EXPECT_EQ(sweep().evaluated, 80);
    EXPECT_THAT(groups(), IsEmpty()) << strategy;
    EXPECT_LE(most_at_work(), 2 * 1 + 2 * 1U) << strategy;
    std::filesystem::remove(folder_.file("log"));
  }
}

TEST_F(CompileTogetherTest, OnTheCpuDeviceEachVariantCompilesByItself) {
  devices_[0].kind = DeviceKind::cpu;
  devices_[0].arch = "cpu";
  options_.method = {"emulation", ""};
  options_.budget.evaluations = 40;
  EXPECT_EQ(sweep().evaluated, 40);
  EXPECT_THAT(groups(), IsEmpty());
}

}  // namespace
}  // namespace mgtune

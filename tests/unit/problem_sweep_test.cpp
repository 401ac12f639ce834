// The sweep's loop with workers that take their time and write down what they do when.

#include "sweep/problem_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/file_system.h"
#include "family/catalog.h"
#include "tests/helpers/environment_variable.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

struct Event {
  std::string kind, event;  // "measure", "begins" or "is"
  double stop_above_ns = 0;
  std::string variant;
};

class ProblemSweepTest : public StoreTest {
 protected:
  ProblemSweepTest() : catalog_(FileSystem::real()) {
    problem_ = bind_problem(*catalog_.find_operator("rmsnorm.forward").value(),
                            {{"rows", "4"}, {"hidden", "64"}, {"T", "f32"}})
                   .value();
    DeviceInfo& device = devices_.front();
    device.kind = DeviceKind::cpu;
    device.id = device.name = device.arch = "cpu";
    device.limits = {90, 1, 232448, 1000000};
    options_.kernel = "rmsnorm";
    options_.strategy = "exhaustive";
    options_.budget.evaluations = 6;
    options_.method = {"emulation", ""};
    options_.program = MGTUNE_FAKE_WORKER;
    options_.lock_directory = folder_.path();
  }

  SweepSummary sweep() {
    const Result<SweepSummary> summary = run_sweep(
        options_, devices_, {problem_}, store_, [](const SweepProgress&) {}, [] { return false; });
    EXPECT_TRUE(summary.ok()) << summary.status().message();
    return summary.ok() ? *summary : SweepSummary();
  }

  std::vector<Event> events() const {
    std::vector<Event> events;
    std::ifstream log(folder_.file("log"));
    for (std::string line; std::getline(log, line);) {
      Event event;
      std::istringstream words(line);
      words >> event.kind >> event.event;
      if (event.event == "is") words.ignore(5);  // " done"
      words >> event.stop_above_ns >> std::ws;
      std::getline(words, event.variant);
      events.push_back(event);
    }
    return events;
  }

  static std::size_t count(const std::vector<Event>& events, const std::string& kind) {
    return static_cast<std::size_t>(std::ranges::count(events, kind, &Event::kind));
  }

  Catalog catalog_;
  Problem problem_;
  std::vector<DeviceInfo> devices_ = std::vector<DeviceInfo>(1);
  SweepOptions options_;
  Store store_ = open();
  const Variable log_{"FAKE_WORKER_LOG", folder_.file("log")};
};

TEST_F(ProblemSweepTest, CompilingGoesOnWhileAVariantIsMeasured) {
  const Variable slow("FAKE_WORKER_MEASURE_MS", "400");
  options_.compile_processes = 2;
  options_.budget.evaluations = 5;
  EXPECT_EQ(sweep().evaluated, 5);
  const std::vector<Event> all = events();
  const auto first_measured = std::ranges::find_if(
      all, [](const Event& e) { return e.kind == "measure" && e.event == "is"; });
  // The window is five. Three of them wait until a compile worker is done with the first two, and
  // nothing but the loop gives them to it.
  EXPECT_EQ(count({all.begin(), first_measured}, "compile"), 10U);
}

TEST_F(ProblemSweepTest, TheDefaultHasItsResultBeforeAnyOther) {
  const Variable slow("FAKE_WORKER_COMPILE_MS", "50");
  options_.compile_processes = 4;
  const SweepSummary summary = sweep();
  EXPECT_EQ(summary.evaluated, 6);
  ASSERT_EQ(summary.picks.size(), 1U);
  std::vector<Event> measured = events();
  std::erase_if(measured, [](const Event& e) { return e.kind == "compile"; });
  ASSERT_EQ(measured.size(), 12U);
  EXPECT_EQ(measured[0].variant, summary.picks[0].tuned.default_variant);
  EXPECT_EQ(measured[0].stop_above_ns, 0);
  EXPECT_EQ(measured[1].event, "is");
  EXPECT_EQ(measured[2].stop_above_ns, 1000) << "the default is the incumbent";
}

TEST_F(ProblemSweepTest, NoMoreThanTheWindowIsAtWork) {
  options_.compile_processes = 1;
  options_.budget.evaluations = 12;
  EXPECT_EQ(sweep().evaluated, 12);
  std::size_t at_work = 0;  // compiled, not yet measured
  for (const Event& event : events()) {
    if (event.event != "is") continue;
    at_work += event.kind == "compile" ? 1U : 0U;
    EXPECT_LE(at_work, 3U);
    at_work -= event.kind == "measure" ? 1U : 0U;
  }
}

TEST_F(ProblemSweepTest, ASecondSweepCompilesAndMeasuresNothing) {
  EXPECT_EQ(sweep().compiled, 6);
  const std::size_t before = events().size();
  const SweepSummary again = sweep();
  EXPECT_EQ(again.compiled, 0);
  EXPECT_EQ(again.reused, 6);
  EXPECT_EQ(events().size(), before);
}

TEST_F(ProblemSweepTest, TimeThatIsOverEndsItWithTheDefaultMeasured) {
  const Variable slow("FAKE_WORKER_COMPILE_MS", "100");
  options_.budget.evaluations.reset();
  options_.budget.seconds = 0.001;
  options_.compile_processes = 1;
  const SweepSummary summary = sweep();
  EXPECT_TRUE(summary.stopped_early);
  EXPECT_EQ(summary.evaluated, 1);
  ASSERT_EQ(summary.picks.size(), 1U);
  EXPECT_EQ(summary.picks[0].tuned.variant, summary.picks[0].tuned.default_variant);
}

}  // namespace
}  // namespace mgtune

#include "counters/range_counter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "counters/chip_counters.h"
#include "counters/launch_counting.h"
#include "tests/helpers/fakes/fake_counters.h"

namespace mgtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class RangeCounterTest : public testing::Test {
 protected:
  RangeCounterTest() {
    counters_.metrics = {{"a.sum", 320}, {"b.pct", 75}};
    library_ = open_counter_library(gpu_.loader).value();
  }

  // All of the counters, as an H200 has them: each counts 1600.
  void give_all_metrics() {
    for (const CounterSet& set : counter_sets()) {
      for (const Counter& counter : set.counters) {
        counters_.metrics[std::string(counter.metric)] = 1600;
      }
    }
  }

  Result<std::unique_ptr<RangeCounter>> make() { return RangeCounter::make(library_, nullptr, 0); }

  Result<std::vector<double>> count(RangeCounter& counter, const CountedWork& work) {
    const std::vector<std::string> metrics = {"a.sum", "b.pct"};
    MGTUNE_ASSIGN(const MetricConfig config, counter.host().schedule(metrics));
    return counter.count(config, metrics, work);
  }

  // The status of making a counter and counting once, with `function` failing.
  Status failure_at(const std::string& function, CUptiResult result) {
    counters_.failures = {{function, result}};
    const auto once = [&]() -> Status {
      MGTUNE_ASSIGN(const auto counter, make());
      return count(*counter, [] { return Status(); }).status();
    };
    Status status = once();
    counters_.failures.clear();
    return status;
  }

  FakeGpu gpu_;
  FakeCounters counters_{gpu_};
  CounterLibrary library_;
};

TEST_F(RangeCounterTest, ThePassesRunTheWorkInOrder) {
  const auto counter = make();
  ASSERT_TRUE(counter.ok()) << counter.status().message();
  EXPECT_THAT(counters_.calls,
              ElementsAre("Initialize", "ChipName", "Availability", "Availability"));
  counters_.calls.clear();
  const auto values =
      count(**counter, [this] { return counters_.calls.emplace_back("work"), Status(); });
  ASSERT_TRUE(values.ok()) << values.status().message();
  EXPECT_THAT(*values, ElementsAre(320, 75));
  EXPECT_THAT(counters_.calls, ElementsAre("Enable", "DataSize", "DataInitialize", "SetConfig",  //
                                           "Start", "PushRange", "work", "PopRange", "Stop",     //
                                           "Start", "PushRange", "work", "PopRange", "Stop",     //
                                           "Decode", "DataInfo", "Disable", "Evaluate"));
}

TEST_F(RangeCounterTest, OtherMetricsGetASessionOfTheirOwn) {
  const auto counter = make();
  ASSERT_TRUE(counter.ok());
  const auto nothing = [] { return Status(); };
  ASSERT_TRUE(count(**counter, nothing).ok());
  EXPECT_EQ(counters_.enabled, 0);
  ASSERT_TRUE(count(**counter, nothing).ok());
  EXPECT_EQ(counters_.count_of("Enable"), 2U);
  EXPECT_EQ(counters_.count_of("Disable"), 2U);
}

TEST_F(RangeCounterTest, EveryCallThatFailsIsSaidAndLeavesNothingOpen) {
  const std::vector<std::string> functions = {"cuptiProfilerHostGetSupportedChips",
                                              "cuptiProfilerHostInitialize",
                                              "cuptiProfilerHostConfigAddMetrics",
                                              "cuptiProfilerHostGetConfigImageSize",
                                              "cuptiProfilerHostGetConfigImage",
                                              "cuptiProfilerHostGetNumOfPasses",
                                              "cuptiProfilerHostEvaluateToGpuValues",
                                              "cuptiProfilerInitialize",
                                              "cuptiDeviceGetChipName",
                                              "cuptiProfilerGetCounterAvailability",
                                              "cuptiRangeProfilerEnable",
                                              "cuptiRangeProfilerGetCounterDataSize",
                                              "cuptiRangeProfilerCounterDataImageInitialize",
                                              "cuptiRangeProfilerSetConfig",
                                              "cuptiRangeProfilerStart",
                                              "cuptiRangeProfilerPushRange",
                                              "cuptiRangeProfilerPopRange",
                                              "cuptiRangeProfilerStop",
                                              "cuptiRangeProfilerDecodeData",
                                              "cuptiRangeProfilerGetCounterDataInfo"};
  for (const std::string& function : functions) {
    const Status status = failure_at(function, CUPTI_ERROR_UNKNOWN);
    EXPECT_EQ(status.code(), StatusCode::environment) << function;
    EXPECT_THAT(status.message(), HasSubstr(": CUPTI_ERROR_OTHER")) << function;
    EXPECT_EQ(counters_.enabled, 0) << function;
    EXPECT_EQ(counters_.hosts_alive, 0) << function;
    EXPECT_FALSE(counters_.initialized) << function;
  }
}

TEST_F(RangeCounterTest, WhatUsersCanMendHasWordsOfItsOwn) {
  const char* const probe = "cuptiProfilerGetCounterAvailability";
  Status status = failure_at(probe, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), StartsWith("the driver lets only administrators read hardware "
                                           "counters; run as root"));
  EXPECT_THAT(status.message(), HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
  EXPECT_THAT(failure_at(probe, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES).message(),
              StartsWith("the driver lets only administrators"));
  status = failure_at("cuptiRangeProfilerEnable", CUPTI_ERROR_HARDWARE_BUSY);
  EXPECT_THAT(status.message(), StartsWith("another program uses the GPU's hardware counters"));
  EXPECT_THAT(status.message(), HasSubstr("dcgmi profile --pause"));
  status = failure_at("cuptiRangeProfilerEnable", CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_THAT(status.message(), StartsWith("counters need CUPTI for themselves; run without"));
}

TEST_F(RangeCounterTest, WhatTheWorkReportsComesBack) {
  const auto counter = make();
  ASSERT_TRUE(counter.ok());
  const auto values =
      count(**counter, [] { return Status(StatusCode::launch_failed, "no such grid"); });
  EXPECT_EQ(values.status().code(), StatusCode::launch_failed);
  EXPECT_EQ(values.status().message(), "no such grid");
  EXPECT_EQ(counters_.count_of("PopRange"), 1U);
  EXPECT_EQ(counters_.count_of("Stop"), 1U);
  EXPECT_EQ(counters_.enabled, 0);
}

TEST_F(RangeCounterTest, ALostRangeIsAnError) {
  const auto counter = make();
  ASSERT_TRUE(counter.ok());
  counters_.dropped = 1;
  Status status = count(**counter, [] { return Status(); }).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_EQ(status.message(), "CUPTI counted 1 of 1 ranges and dropped 1");
  counters_.dropped = 0;
  counters_.ranges = 0;
  status = count(**counter, [] { return Status(); }).status();
  EXPECT_EQ(status.message(), "CUPTI counted 0 of 1 ranges and dropped 0");
}

TEST_F(RangeCounterTest, PassesHaveAnEnd) {
  const auto counter = make();
  ASSERT_TRUE(counter.ok());
  counters_.passes_wanted = 1000;
  const Status status = count(**counter, [] { return Status(); }).status();
  EXPECT_EQ(status.message(), "CUPTI wants more than the 2 passes that it planned");
  EXPECT_EQ(counters_.count_of("Start"), 2U);
}

TEST_F(RangeCounterTest, AChipThatCuptiDoesNotKnowIsNamed) {
  counters_.chip = "GR100";
  const Status status = make().status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr("unknown chip 'GR100'"));
  EXPECT_THAT(status.message(), HasSubstr("There are: TU102 GH100"));
}

TEST_F(RangeCounterTest, AMissingFunctionIsNamed) {
  gpu_.loader.libraries[FakeCupti::file_name()].erase("cuptiRangeProfilerStop");
  const Status status = open_counter_library(gpu_.loader).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr(" has no cuptiRangeProfilerStop"));
}

TEST_F(RangeCounterTest, ARangeHoldsSixteenLaunchesAndWholeTurns) {
  EXPECT_EQ(launches_in_range(1), 16);
  EXPECT_EQ(launches_in_range(3), 18);
  EXPECT_EQ(launches_in_range(16), 16);
  EXPECT_EQ(launches_in_range(17), 17);
  EXPECT_EQ(launches_in_range(0), 16);
}

TEST_F(RangeCounterTest, SumsAreThoseOfALaunch) {
  give_all_metrics();
  const auto counter = make();
  ASSERT_TRUE(counter.ok());
  std::vector<std::int64_t> turns;
  const TimedWork work = [&turns](std::int64_t turn, Stream) {
    return turns.push_back(turn), Status();
  };
  const auto counted = count_launches(**counter, gpu_.device, work, 5, 1);
  ASSERT_TRUE(counted.ok()) << counted.status().message();
  EXPECT_EQ(counted->launches, 20);
  EXPECT_EQ(counted->passes, 4);  // two for each set of the tier
  EXPECT_EQ(turns.size(), 100U);  // once to warm up
  EXPECT_EQ(turns.back(), 19);
  EXPECT_THAT(counted->left_out, IsEmpty());
  ASSERT_EQ(counted->values.size(),
            counter_set("essentials").counters.size() + counter_set("throughput").counters.size());
  EXPECT_EQ(counted->chip, "GH100");
  for (const auto& [name, value] : counted->values) {
    const Counter* const which = find_counter(name);
    ASSERT_NE(which, nullptr) << name;
    const double expected = which->kind == CounterKind::per_launch ? 80 : 1600;
    EXPECT_DOUBLE_EQ(value, expected * which->scale) << which->name;
  }
}

TEST_F(RangeCounterTest, TheSecondTierHasAllSets) {
  give_all_metrics();
  const auto counter = make();
  ASSERT_TRUE(counter.ok());
  const TimedWork nothing = [](std::int64_t, Stream) { return Status(); };
  const auto counted = count_launches(**counter, gpu_.device, nothing, 1, 2);
  ASSERT_TRUE(counted.ok()) << counted.status().message();
  EXPECT_EQ(counted->passes, 6);
  EXPECT_EQ(counters_.count_of("Enable"), 3U);
  EXPECT_EQ(counted->values.size(), counter_set("essentials").counters.size() +
                                        counter_set("throughput").counters.size() +
                                        counter_set("stalls").counters.size());
  EXPECT_EQ(count_launches(**counter, gpu_.device, nothing, 1, 3).status().code(),
            StatusCode::invalid_argument);
}

TEST_F(RangeCounterTest, WhatIsNotThereIsLeftOutAndNamed) {
  give_all_metrics();
  counters_.metrics.erase("dram__bytes_read.sum");
  counters_.metrics["fbpa__dram_read_bytes.sum"] = 3200;
  counters_.metrics.erase("sm__inst_executed_pipe_tensor_op_gmma.sum");
  counters_.unavailable = {"lts__t_bytes.sum"};
  counters_.metrics["l1tex__t_sector_hit_rate.pct"] = std::numeric_limits<double>::quiet_NaN();
  const auto counter = make();
  ASSERT_TRUE(counter.ok());
  const TimedWork nothing = [](std::int64_t, Stream) { return Status(); };
  const auto counted = count_launches(**counter, gpu_.device, nothing, 16, 1);
  ASSERT_TRUE(counted.ok()) << counted.status().message();
  EXPECT_THAT(counted->left_out, ElementsAre("l2_bytes: GH100 has no metric for it",
                                             "wgmma_instructions: GH100 has no metric for it",
                                             "l1_hit_percent: nothing to divide by"));
  for (const auto& [name, value] : counted->values) {
    if (name != "dram_read_bytes") continue;
    EXPECT_EQ(value, 200);
  }
  counters_.metrics.clear();
  EXPECT_THAT(count_launches(**counter, gpu_.device, nothing, 16, 1).status().message(),
              HasSubstr("GH100 counts nothing that mgtune asks for"));
}

TEST_F(RangeCounterTest, AWarmUpThatFailsCountsNothing) {
  give_all_metrics();
  const auto counter = make();
  ASSERT_TRUE(counter.ok());
  const TimedWork fails = [](std::int64_t turn, Stream) {
    return turn < 3 ? Status() : Status(StatusCode::device_lost, "gone");
  };
  EXPECT_EQ(count_launches(**counter, gpu_.device, fails, 1, 1).status().code(),
            StatusCode::device_lost);
  EXPECT_EQ(counters_.count_of("Enable"), 0U);
}

}  // namespace
}  // namespace mgtune

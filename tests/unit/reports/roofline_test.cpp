#include "roofline/roofline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace mgtune {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

CeilingRecord peak(const std::string& kind, double rate) {
  CeilingRecord ceiling;
  ceiling.kind = kind;
  ceiling.rate = rate;
  return ceiling;
}

const std::vector<CeilingRecord> kPeaks = {peak("copy", 4e12), peak("fp32", 60e12),
                                           peak("mma_bf16", 600e12), peak("wgmma_bf16", 750e12)};

// RMSNorm 4096 x 4096 bf16 on an H200.
RooflineInput memory_bound() {
  RooflineInput input;
  input.bytes = 67'117'056;
  input.flops = 67'108'864;
  input.median_ns = 18'000;
  input.copy_ns = 17'500;
  input.spill_bytes = 0;
  input.sm_count = 132;
  input.ceilings = kPeaks;
  return input;
}

TEST(Roofline, SaysHowNearItIs) {
  const Roofline line = roofline(memory_bound());
  EXPECT_NEAR(*line.intensity, 1, 0.01);
  EXPECT_NEAR(*line.of_copy, 0.972, 0.001);
  EXPECT_FALSE(line.of_peak.has_value()) << "tensor cores or not: nothing was counted";
  EXPECT_EQ(line.limit, "Memory bandwidth: 97 % of the copy rate at these bytes (time and cost).");
}

TEST(Roofline, NothingOfNoTime) {
  RooflineInput input = memory_bound();
  input.median_ns = 0;
  EXPECT_EQ(roofline(input).limit, "");
  EXPECT_FALSE(roofline(input).intensity.has_value());
}

TEST(Roofline, WithoutCeilingsItSaysWhatMeasuresThem) {
  RooflineInput input = memory_bound();
  input.copy_ns = 0;
  input.ceilings = {};
  EXPECT_EQ(roofline(input).limit, "Not known: no ceiling was measured. `mgtune calibrate` does.");
  EXPECT_TRUE(roofline(input).intensity.has_value());
}

TEST(Roofline, UncountedItDoesNotGuess) {
  RooflineInput input = memory_bound();
  input.median_ns = 40'000;
  EXPECT_THAT(roofline(input).limit,
              StartsWith("Latency or occupancy: far from its ceilings (44 % of the copy rate)."));
  EXPECT_THAT(roofline(input).limit, HasSubstr("`mgtune profile`"));
  input.spill_bytes = 64;
  EXPECT_THAT(roofline(input).limit, StartsWith("Spilled registers, perhaps: 64 bytes a thread"));
}

TEST(Roofline, BeyondFp32ItIsTheTensorCores) {
  RooflineInput input = memory_bound();
  input.flops = 600e12 * 40e-6;
  input.median_ns = 40'000;
  const Roofline line = roofline(input);
  EXPECT_EQ(line.peak, "wgmma_bf16");
  EXPECT_NEAR(*line.of_peak, 0.8, 1e-6);
  EXPECT_EQ(line.limit, "Arithmetic: 80 % of the wgmma_bf16 peak measured here (time and cost).");
}

// What each counter says when nothing stronger does.
TEST(Roofline, CountersNameTheLimit) {
  struct Case {
    std::vector<CounterRecord> counters;
    const char* start;
  };
  const std::vector<Case> cases = {
      {{{"instructions", 1000}, {"local_loads", 100}, {"local_stores", 50}},
       "Spilled registers: 15 % of its instructions move local memory (local_loads"},
      {{{"elapsed_ns", 40'000}, {"sm_clock_mhz", 2000}, {"shared_load_conflicts", 132 * 20'000}},
       "Bank conflicts: shared memory spends 25 % of all cycles on them"},
      {{{"tensor_active_percent", 85}}, "Tensor pipe: busy 85 % of the time"},
      {{{"dram_read_bytes", 100e6}, {"dram_write_bytes", 34e6}},
       "Memory traffic: it moves 2.00 times the bytes that must move"},
      {{{"issue_active_percent", 82}}, "Instructions: the schedulers issue in 82 % of the cycles"},
      {{{"occupancy_percent", 12}, {"issue_active_percent", 20}},
       "Occupancy: 12 % of the warps that fit are resident"},
      {{{"occupancy_percent", 60}, {"issue_active_percent", 20}},
       "Latency: 60 % of the warps that fit are resident, and instructions issue in 20 % of the "
       "cycles"},
      {{{"l2_hit_percent", 60}}, "Not known: the chip does not count what would say it."}};
  for (const Case& one : cases) {
    RooflineInput input = memory_bound();
    input.median_ns = 40'000;
    input.spill_bytes = 64;
    input.counters = one.counters;
    EXPECT_THAT(roofline(input).limit, StartsWith(one.start));
  }
}

TEST(Roofline, LocalMemoryOfABuildThatSpillsNothingIsNoSpill) {
  const std::vector<CounterRecord> counters = {{"instructions", 1000}, {"local_loads", 100}};
  RooflineInput input = memory_bound();
  input.median_ns = 40'000;
  input.counters = counters;
  EXPECT_THAT(roofline(input).limit, testing::Not(StartsWith("Spilled")));
}

TEST(Roofline, FewConflictsLimitNothing) {
  const std::vector<CounterRecord> counters = {
      {"elapsed_ns", 40'000},          {"sm_clock_mhz", 2000},    {"shared_load_conflicts", 40},
      {"shared_load_wavefronts", 100}, {"occupancy_percent", 60}, {"issue_active_percent", 20}};
  RooflineInput input = memory_bound();
  input.median_ns = 40'000;
  input.counters = counters;
  EXPECT_THAT(roofline(input).limit, StartsWith("Latency"));
}

TEST(Roofline, WorkThatWasCountedWithoutTensorCoresIsHeldAgainstFp32) {
  const std::vector<CounterRecord> counters = {{"tensor_active_percent", 0.1}};
  RooflineInput input = memory_bound();
  input.flops = 50e12 * 40e-6;
  input.median_ns = 40'000;
  input.counters = counters;
  const Roofline line = roofline(input);
  EXPECT_EQ(line.peak, "fp32");
  EXPECT_THAT(line.limit, StartsWith("Arithmetic: 83 % of the fp32 peak"));
}

TEST(Roofline, NearTheCopyRateItIsTheMemoryWhateverElseIsBusy) {
  const std::vector<CounterRecord> counters = {{"issue_active_percent", 90},
                                               {"shared_load_conflicts", 400},
                                               {"shared_load_wavefronts", 1000}};
  RooflineInput input = memory_bound();
  input.counters = counters;
  EXPECT_THAT(roofline(input).limit, StartsWith("Memory bandwidth: 97 %"));
}

TEST(Roofline, TensorWorkThatWasCountedIsHeldAgainstTensorPeaks) {
  const std::vector<CounterRecord> counters = {{"tensor_active_percent", 30}};
  RooflineInput input = memory_bound();
  input.counters = counters;
  EXPECT_EQ(roofline(input).peak, "wgmma_bf16");
}

}  // namespace
}  // namespace mgtune

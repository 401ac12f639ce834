#include "cli/output/sweep_times_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mgtune {
namespace {

using std::chrono::milliseconds;

SweepTimes example() {
  SweepTimes times{.wall = milliseconds(4000), .gpus = {}, .compile_processes = 16};
  times.compile_seconds = 48;
  SweepTimes::Gpu& gpu = times.gpus.emplace_back();
  gpu.device = "GPU-1";
  gpu.times[std::size_t(GpuPhase::measure)] = milliseconds(3000);
  gpu.times[std::size_t(GpuPhase::wait_compile)] = milliseconds(1000);
  return times;
}

TEST(SweepTimesOutput, TheTextHasThePhasesThatTookTime) {
  EXPECT_EQ(sweep_times_text(example()),
            "where 4.000 s of wall time went:\n"
            "  phase          GPU-1 [s]   share  what the GPU does, or why it is idle\n"
            "  measure            3.000  75.0 %  timing launches\n"
            "  idle: compile      1.000  25.0 %  waiting for compile processes\n"
            "compile processes: 16, at work 75.0 % of the time\n");
}

TEST(SweepTimesOutput, TheJsonHasAllPhasesAndTheySumUp) {
  const auto json = nlohmann::json::parse(sweep_times_json(example()).compact_text());
  EXPECT_EQ(json["seconds"], 4.0);
  EXPECT_EQ(json["compile"]["processes"], 16);
  EXPECT_EQ(json["compile"]["seconds"], 48.0);
  ASSERT_EQ(json["gpus"].size(), 1U);
  EXPECT_EQ(json["gpus"][0]["device"], "GPU-1");
  const auto& phases = json["gpus"][0]["phases"];
  EXPECT_EQ(phases.size(), kGpuPhases);
  double sum = 0;
  for (const auto& phase : phases) sum += phase.get<double>();
  EXPECT_EQ(sum, 4.0);
  EXPECT_EQ(phases["idle: compile"], 1.0);
}

}  // namespace
}  // namespace mgtune

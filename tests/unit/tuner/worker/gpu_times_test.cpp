#include "measure/gpu_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <string_view>

namespace mgtune {
namespace {

using std::chrono::milliseconds;
using Clock = GpuTimes::Clock;

class GpuTimesTest : public testing::Test {
 protected:
  static Clock::time_point at(int ms) { return Clock::time_point(milliseconds(ms)); }
  milliseconds time(std::size_t gpu, GpuPhase phase, int until) const {
    return std::chrono::duration_cast<milliseconds>(
        times_.of(gpu, at(until))[static_cast<std::size_t>(phase)]);
  }
  void expect_sum(int until) const {
    for (std::size_t gpu = 0; gpu < times_.gpus(); ++gpu) {
      const GpuTimes::Times times = times_.of(gpu, at(until));
      EXPECT_EQ(std::accumulate(times.begin(), times.end(), Clock::duration::zero()),
                times_.wall(at(until)));
    }
  }

  GpuTimes times_{2, at(0)};
};

TEST_F(GpuTimesTest, ARequestIsDividedAsItsWorkerSays) {
  times_.begin(0, at(10));
  times_.end(0,
             {{GpuPhase::load, milliseconds(5)},
              {GpuPhase::check, milliseconds(20)},
              {GpuPhase::measure, milliseconds(60)}},
             GpuPhase::handover, at(100));
  EXPECT_EQ(time(0, GpuPhase::loop, 100), milliseconds(10));
  EXPECT_EQ(time(0, GpuPhase::load, 100), milliseconds(5));
  EXPECT_EQ(time(0, GpuPhase::check, 100), milliseconds(20));
  EXPECT_EQ(time(0, GpuPhase::measure, 100), milliseconds(60));
  EXPECT_EQ(time(0, GpuPhase::handover, 100), milliseconds(5));
  EXPECT_EQ(time(1, GpuPhase::loop, 100), milliseconds(100)) << "the other GPU did nothing";
  expect_sum(100);
}

TEST_F(GpuTimesTest, PartsThatAreTooLongAreCut) {
  times_.begin(0, at(0));
  times_.end(0, {{GpuPhase::load, milliseconds(30)}, {GpuPhase::check, milliseconds(90)}},
             GpuPhase::handover, at(100));
  EXPECT_EQ(time(0, GpuPhase::load, 100), milliseconds(30));
  EXPECT_EQ(time(0, GpuPhase::check, 100), milliseconds(70));
  EXPECT_EQ(time(0, GpuPhase::handover, 100), milliseconds(0));
  expect_sum(100);
}

TEST_F(GpuTimesTest, OnlyIdleGpusAreIdleBecauseOfSomething) {
  times_.begin(0, at(0));
  EXPECT_EQ(times_.set_cause(GpuPhase::wait_compile, at(10)), GpuPhase::loop);
  EXPECT_EQ(times_.set_cause(GpuPhase::store, at(40)), GpuPhase::wait_compile);
  EXPECT_EQ(time(0, GpuPhase::measure, 50), milliseconds(50)) << "it is at work still";
  EXPECT_EQ(time(1, GpuPhase::loop, 50), milliseconds(10));
  EXPECT_EQ(time(1, GpuPhase::wait_compile, 50), milliseconds(30));
  EXPECT_EQ(time(1, GpuPhase::store, 50), milliseconds(10));
  expect_sum(50);
}

TEST_F(GpuTimesTest, EveryPhaseHasAWordOfItsOwn) {
  std::set<std::string_view> words, descriptions;
  for (std::size_t i = 0; i < kGpuPhases; ++i) {
    words.insert(word_of(static_cast<GpuPhase>(i)));
    descriptions.insert(description_of(static_cast<GpuPhase>(i)));
  }
  EXPECT_EQ(words.size(), kGpuPhases);
  EXPECT_EQ(descriptions.size(), kGpuPhases);
}

}  // namespace
}  // namespace mgtune

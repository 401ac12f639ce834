// MemoryCeilingTest: the copy or the read ceiling on the cpu device: the real kernels, times of a
// made-up timer. Header-only.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ceilings/ceiling.h"
#include "device/registry.h"
#include "tests/helpers/fakes/fake_timer.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {

class MemoryCeilingTest : public testing::Test {
 protected:
  explicit MemoryCeilingTest(std::string kind) : kind_(std::move(kind)) {}

  Result<CeilingRecord> measure(Timer& timer, std::int64_t bytes) {
    return measure_ceiling(*device_, builder_, timer, kind_, bytes);
  }

  void expect_the_fastest_shapes_time() {
    FakeTimer timer({900, 700, 800, 650, 950});
    const Result<CeilingRecord> ceiling = measure(timer, 1 << 16);
    ASSERT_TRUE(ceiling.ok()) << ceiling.status().message();
    EXPECT_DOUBLE_EQ(ceiling->rate, (1 << 16) / 650e-9);
    EXPECT_EQ(ceiling->clocks.sm_mhz, 650);
    ASSERT_GE(timer.bests_ns.size(), 8U);
    EXPECT_THAT(std::vector(timer.bests_ns.begin(), timer.bests_ns.begin() + 5),
                testing::ElementsAre(0, 900, 700, 700, 650));
  }

  // Each shape wins once, and the winner's work is checked. `turns`: how often a timer launches it.
  void expect_every_shape_moves(std::initializer_list<std::int64_t> sizes, std::int64_t turns) {
    FakeTimer count({900});
    ASSERT_TRUE(measure(count, 32).ok());
    const std::size_t shapes = count.bests_ns.size();
    ASSERT_GE(shapes, 8U);
    for (std::size_t shape = 0; shape < shapes; ++shape) {
      std::vector<double> times(shapes, 900);
      times[shape] = 100;
      for (const std::int64_t bytes : sizes) {
        FakeTimer timer(times);
        timer.turns = turns;
        const Result<CeilingRecord> ceiling = measure(timer, bytes);
        ASSERT_TRUE(ceiling.ok()) << "shape " << shape << ", " << bytes
                                  << " bytes: " << ceiling.status().message();
        EXPECT_DOUBLE_EQ(ceiling->rate, static_cast<double>(bytes) / 100e-9);
      }
    }
  }

  void expect_the_timers_failure() {
    FakeTimer timer({900});
    timer.failure = Status(StatusCode::device_lost, "gone");
    EXPECT_EQ(measure(timer, 1 << 16).status().code(), StatusCode::device_lost);
  }

  const std::string kind_;
  std::unique_ptr<Device> device_ = open_device("cpu").value();
  const TestFolder cache_;
  Builder builder_{BuildCache(FileSystem::real(), cache_.path())};
};

}  // namespace mgtune

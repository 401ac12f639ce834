// The read ceiling on the cpu device: the real kernels, times of a made-up timer.

#include "ceilings/read_ceiling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "device/registry.h"
#include "tests/helpers/fake_timer.h"
#include "tests/helpers/temporary_folder.h"

namespace mgtune {
namespace {

class ReadCeiling : public testing::Test {
 protected:
  Result<double> measure(Timer& timer, std::int64_t bytes) {
    return read_ns(*device_, builder_, timer, bytes);
  }

  std::unique_ptr<Device> device_ = open_device("cpu").value();
  const TemporaryFolder cache_;
  Builder builder_{BuildCache(FileSystem::real(), cache_.path())};
};

TEST_F(ReadCeiling, IsTheFastestShapesTime) {
  FakeTimer timer({900, 700, 800, 650, 950});
  const Result<double> ns = measure(timer, 1 << 16);
  ASSERT_TRUE(ns.ok()) << ns.status().message();
  EXPECT_EQ(*ns, 650);
  ASSERT_GE(timer.bests_ns.size(), 8U);
  EXPECT_THAT(std::vector(timer.bests_ns.begin(), timer.bests_ns.begin() + 5),
              testing::ElementsAre(0, 900, 700, 700, 650));
}

TEST_F(ReadCeiling, EveryShapeReadsEverySizeWhole) {
  FakeTimer count({900});
  ASSERT_TRUE(measure(count, 16).ok());
  const std::size_t shapes = count.bests_ns.size();
  for (std::size_t shape = 0; shape < shapes; ++shape) {
    std::vector<double> times(shapes, 900);
    times[shape] = 100;
    // The last is more than all strided blocks read in one turn.
    for (const std::int64_t bytes : {1, 16, 100'000, 16 * 4099, 16 * 140'001}) {
      FakeTimer timer(times);
      timer.turns = 1;
      const Result<double> ns = measure(timer, bytes);
      ASSERT_TRUE(ns.ok()) << "shape " << shape << ", " << bytes
                           << " bytes: " << ns.status().message();
      EXPECT_EQ(*ns, 100);
    }
  }
}

TEST_F(ReadCeiling, AFailureOfTheTimerIsItsOwn) {
  FakeTimer timer({900});
  timer.failure = Status(StatusCode::device_lost, "gone");
  EXPECT_EQ(measure(timer, 1 << 16).status().code(), StatusCode::device_lost);
}

}  // namespace
}  // namespace mgtune

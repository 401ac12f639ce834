// The copy ceiling on the cpu device: the real kernels, times of a made-up timer.

#include "ceilings/copy_ceiling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "device/registry.h"
#include "tests/helpers/fakes/fake_timer.h"
#include "tests/helpers/temporary_folder.h"

namespace mgtune {
namespace {

class CopyCeiling : public testing::Test {
 protected:
  Result<MeasuredCeiling> measure(Timer& timer, std::int64_t bytes_moved) {
    return measure_copy(*device_, builder_, timer, bytes_moved);
  }

  std::unique_ptr<Device> device_ = open_device("cpu").value();
  const TemporaryFolder cache_;
  Builder builder_{BuildCache(FileSystem::real(), cache_.path())};
};

TEST_F(CopyCeiling, IsTheFastestShapesTime) {
  FakeTimer timer({900, 700, 800, 650, 950});
  const Result<MeasuredCeiling> ceiling = measure(timer, 1 << 16);
  ASSERT_TRUE(ceiling.ok()) << ceiling.status().message();
  EXPECT_DOUBLE_EQ(ceiling->rate, (1 << 16) / 650e-9);
  EXPECT_EQ(ceiling->clocks.sm_mhz, 650);
  ASSERT_GE(timer.bests_ns.size(), 8U);
  EXPECT_THAT(std::vector(timer.bests_ns.begin(), timer.bests_ns.begin() + 5),
              testing::ElementsAre(0, 900, 700, 700, 650));
}

TEST_F(CopyCeiling, EveryShapeCopiesEverySizeWhole) {
  // 16 bytes a buffer, and numbers of vectors that no tile divides. measure_copy checks the
  // winner's copy: each shape wins once.
  FakeTimer count({900});
  ASSERT_TRUE(measure(count, 32).ok());
  const std::size_t shapes = count.bests_ns.size();
  ASSERT_GE(shapes, 8U);
  for (std::size_t shape = 0; shape < shapes; ++shape) {
    std::vector<double> times(shapes, 900);
    times[shape] = 100;
    for (const std::int64_t bytes : {1, 32, 100'000, 2 * 16 * 4099}) {
      FakeTimer timer(times);
      const Result<MeasuredCeiling> ceiling = measure(timer, bytes);
      ASSERT_TRUE(ceiling.ok()) << "shape " << shape << ", " << bytes
                                << " bytes: " << ceiling.status().message();
      EXPECT_DOUBLE_EQ(ceiling->rate, static_cast<double>(bytes) / 100e-9);
    }
  }
}

TEST_F(CopyCeiling, AFailureOfTheTimerIsItsOwn) {
  FakeTimer timer({900});
  timer.failure = Status(StatusCode::device_lost, "gone");
  EXPECT_EQ(measure(timer, 1 << 16).status().code(), StatusCode::device_lost);
}

}  // namespace
}  // namespace mgtune

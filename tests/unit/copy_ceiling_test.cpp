// The copy ceiling on the cpu device: the real kernels, times of a made-up timer.

#include "ceilings/copy_ceiling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "device/registry.h"
#include "tests/helpers/fake_timer.h"
#include "tests/helpers/temporary_folder.h"

namespace mgtune {
namespace {

class CopyCeiling : public testing::Test {
 protected:
  Result<double> measure(Timer& timer, std::int64_t bytes_moved) {
    return copy_ns(*device_, builder_, timer, bytes_moved);
  }

  std::unique_ptr<Device> device_ = open_device("cpu").value();
  const TemporaryFolder cache_;
  Builder builder_{BuildCache(FileSystem::real(), cache_.path())};
};

TEST_F(CopyCeiling, IsTheFastestShapesTime) {
  FakeTimer timer({900, 700, 800, 650, 950});
  const Result<double> ns = measure(timer, 1 << 16);
  ASSERT_TRUE(ns.ok()) << ns.status().message();
  EXPECT_EQ(*ns, 650);
  ASSERT_GE(timer.bests_ns.size(), 8U);
  EXPECT_THAT(std::vector(timer.bests_ns.begin(), timer.bests_ns.begin() + 5),
              testing::ElementsAre(0, 900, 700, 700, 650));
}

TEST_F(CopyCeiling, EveryShapeCopiesEverySizeWhole) {
  // 16 bytes a buffer, and numbers of vectors that no tile divides. copy_ns checks the winner's
  // copy: each shape wins once.
  FakeTimer count({900});
  ASSERT_TRUE(measure(count, 32).ok());
  const std::size_t shapes = count.bests_ns.size();
  ASSERT_GE(shapes, 8U);
  for (std::size_t shape = 0; shape < shapes; ++shape) {
    std::vector<double> times(shapes, 900);
    times[shape] = 100;
    for (const std::int64_t bytes : {1, 32, 100'000, 2 * 16 * 4099}) {
      FakeTimer timer(times);
      const Result<double> ns = measure(timer, bytes);
      ASSERT_TRUE(ns.ok()) << "shape " << shape << ", " << bytes
                           << " bytes: " << ns.status().message();
      EXPECT_EQ(*ns, 100);
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

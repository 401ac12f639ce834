// The time of a copy of any size, from the copies that were measured.

#include "store/copy_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace mgtune {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kMiB = 1 << 20;

double rate_of(std::int64_t bytes, double ns) { return static_cast<double>(bytes) * 1e9 / ns; }

TEST(CopyTimes, OfASizeThatWasMeasuredIsThatOfTheNewestCopy) {
  CopyTimes copies;
  EXPECT_EQ(copies.ns(1000), 0);
  copies.add(1000, rate_of(1000, 95));
  copies.add(1000, rate_of(1000, 90));
  copies.add(1001, 0);
  EXPECT_DOUBLE_EQ(copies.ns(1000), 90);
}

TEST(CopyTimes, OfNearlyThatSizeHasTheSameBandwidth) {
  CopyTimes copies;
  copies.add(1000, rate_of(1000, 90));
  EXPECT_DOUBLE_EQ(copies.ns(1005), 90 * 1.005);
  EXPECT_DOUBLE_EQ(copies.ns(995), 90 * 0.995);
  EXPECT_EQ(copies.ns(1010), 0);
  EXPECT_EQ(copies.ns(990), 0);
}

TEST(CopyTimes, BetweenTwoIsLinearInTheBytes) {
  CopyTimes copies;
  copies.add(64 * kMiB, rate_of(64 * kMiB, 17'644));
  copies.add(128 * kMiB, rate_of(128 * kMiB, 33'496));
  EXPECT_NEAR(copies.ns(96 * kMiB), (17'644 + 33'496) / 2.0, 1e-6);
  EXPECT_NEAR(copies.ns(80 * kMiB), 17'644 + (33'496 - 17'644) / 4.0, 1e-6);
  EXPECT_EQ(copies.ns(32 * kMiB), 0);
  EXPECT_EQ(copies.ns(256 * kMiB), 0);
}

TEST(CopyTimes, OfSizesFarApartSayNothingOfThoseBetween) {
  CopyTimes copies;
  copies.add(64 * kMiB, 4e12);
  copies.add(256 * kMiB, 4e12);
  EXPECT_EQ(copies.ns(128 * kMiB), 0);
}

TEST(CopyTimes, BeyondTheLargestKeepItsBandwidth) {
  CopyTimes copies;
  copies.add(1024 * kMiB, rate_of(1024 * kMiB, 250'000));
  EXPECT_DOUBLE_EQ(copies.ns(3072 * kMiB), 750'000);
}

TEST(CopyTimes, AreKnownAfterTheirSizesWereMeasured) {
  EXPECT_THAT(CopyTimes::sizes_for(96 * kMiB), ElementsAre(64 * kMiB, 128 * kMiB));
  EXPECT_THAT(CopyTimes::sizes_for(64 * kMiB), ElementsAre(64 * kMiB));
  EXPECT_THAT(CopyTimes::sizes_for(64 * kMiB + 8192), ElementsAre(64 * kMiB));
  EXPECT_THAT(CopyTimes::sizes_for(128 * kMiB - 8192), ElementsAre(128 * kMiB));
  EXPECT_THAT(CopyTimes::sizes_for(100), ElementsAre(100));
  EXPECT_THAT(CopyTimes::sizes_for(5 * 1024 * kMiB), ElementsAre(1024 * kMiB));
  for (double bytes = 1; bytes < 1e11; bytes *= 1.37) {
    const auto count = static_cast<std::int64_t>(bytes);
    CopyTimes copies;
    for (const std::int64_t size : CopyTimes::sizes_for(count)) copies.add(size, 4e12);
    EXPECT_NEAR(copies.ns(count), static_cast<double>(count) / 4e3, 1e-6 * bytes) << count;
  }
}

// Times that rise like those of an H200: 1.7 us at 1 MiB, half of the full bandwidth at 8 MiB.
TEST(CopyTimes, OfASmoothCurveAreMetWithinOnePercentByTheirNeighbors) {
  CopyTimes copies;
  const auto time_of = [](double mib) { return 1.45 + 0.231 * mib + 0.12 * std::sqrt(mib); };
  for (double mib = 1; mib <= 1024; mib *= 2) {
    const auto bytes = static_cast<std::int64_t>(mib) * kMiB;
    copies.add(bytes, rate_of(bytes, time_of(mib)));
  }
  for (double mib = 1; mib <= 1024; mib *= 1.07) {
    const double exact = time_of(mib);
    EXPECT_NEAR(copies.ns(static_cast<std::int64_t>(mib * kMiB)), exact, 0.01 * exact) << mib;
  }
}

}  // namespace
}  // namespace mgtune

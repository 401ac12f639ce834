#include "system/utc_now.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <time.h>

#include <chrono>
#include <limits>
#include <optional>

namespace {
thread_local std::optional<timespec> clock_of_this_thread;  // nullopt: the real one
}  // namespace

// Replaces the C library's function for this program and the shared libraries that it uses.
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock,
                                                                    timespec* now) noexcept {
  static const auto real =
      reinterpret_cast<decltype(&::clock_gettime)>(::dlsym(RTLD_NEXT, "clock_gettime"));
  if (clock != CLOCK_REALTIME || !clock_of_this_thread.has_value()) return real(clock, now);
  *now = *clock_of_this_thread;
  return 0;
}

namespace mgtune {
namespace {

class UtcNow : public testing::Test {
 protected:
  ~UtcNow() override { clock_of_this_thread.reset(); }
  static void set_clock(time_t seconds, long nanoseconds = 0) {
    clock_of_this_thread = timespec{seconds, nanoseconds};
  }
};

TEST_F(UtcNow, IsTheTimeOfTheClock) {
  set_clock(1'795'435'200, 7'999'999);
  EXPECT_EQ(utc_now(), "2026-11-23T12:00:00Z");
  EXPECT_EQ(utc_now_ms(), "2026-11-23T12:00:00.007Z");
  EXPECT_EQ(utc_before_now(std::chrono::hours(48)), "2026-11-21T12:00:00Z");
}

TEST_F(UtcNow, ClocksThatAreFarOffGiveTheYearThatTheyShow) {
  set_clock(253'370'764'800);
  EXPECT_EQ(utc_now(), "9999-01-01T00:00:00Z");
  EXPECT_EQ(utc_now_ms(), "9999-01-01T00:00:00.000Z");
  EXPECT_EQ(utc_before_now(std::chrono::hours(24)), "9998-12-31T00:00:00Z");
  set_clock(-1);
  EXPECT_EQ(utc_now(), "1969-12-31T23:59:59Z");
}

// Longer years would not sort as texts.
TEST_F(UtcNow, YearsHaveFourDigits) {
  set_clock(253'402'300'800);
  EXPECT_EQ(utc_now(), "9999-12-31T23:59:59Z");
  set_clock(std::numeric_limits<time_t>::max());
  EXPECT_EQ(utc_now(), "9999-12-31T23:59:59Z");
  set_clock(std::numeric_limits<time_t>::min() + 1);
  EXPECT_EQ(utc_now(), "0000-01-01T00:00:00Z");
}

}  // namespace
}  // namespace mgtune

#include "peers/utc_time.h"

#include <gtest/gtest.h>

namespace mgtune {
namespace {

TEST(UtcTimeTest, TimesOfAllZonesBecomeUtc) {
  EXPECT_EQ(*utc_time("2026-11-21T09:00:00Z"), "2026-11-21T09:00:00Z");
  EXPECT_EQ(*utc_time("2026-11-21T09:00:00"), "2026-11-21T09:00:00Z");
  EXPECT_EQ(*utc_time("2026-11-21 09:00:00.123456"), "2026-11-21T09:00:00Z");
  EXPECT_EQ(*utc_time("2026-11-21T00:30:00+01:00"), "2026-11-20T23:30:00Z");
  EXPECT_EQ(*utc_time("2026-12-31T20:00:00-0500"), "2027-01-01T01:00:00Z");
  EXPECT_EQ(*utc_time("2024-02-29"), "2024-02-29T00:00:00Z");
}

TEST(UtcTimeTest, AnythingElseIsRefused) {
  for (const char* text :
       {"", "now", "2026", "2026-13-01", "2026-02-30", "2026-11-21T", "2026-11-21T25:00:00Z",
        "2026-11-21T09:00", "2026-11-21T09:00:00Zulu", "2026-11-21T09:00:00+1", "+026-11-21",
        "2026-11-2", "2026-11-21x09:00:00"}) {
    EXPECT_FALSE(utc_time(text).ok()) << text;
  }
}

}  // namespace
}  // namespace mgtune

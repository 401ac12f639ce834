// Which measured variants are tried in whole tokens, and what the database says of them.

#include "tune/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mgtune::engine {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<MeasuredVariant> kMeasured = {
    {"row A=1 B=1 ROOM=1", "", 100}, {"row A=2 B=1 ROOM=1", "", 101},
    {"row A=1 B=2 ROOM=1", "", 102}, {"row A=2 B=2 ROOM=1", "", 103},
    {"row A=1 B=1 ROOM=2", "", 110}, {"row A=2 B=2 ROOM=2", "", 111},
    {"row A=3 B=1 ROOM=1", "", 150}, {"tile A=1", "", 400},
};

std::vector<std::string> chosen(const std::string& now, std::size_t max, double max_ratio = 1.25) {
  return choose_candidates(kMeasured, now, max, max_ratio);
}

TEST(Candidates, EachBringsAValueThatNoneBeforeHas) {
  EXPECT_THAT(chosen("row A=1 B=1 ROOM=1", 8),
              ElementsAre("row A=2 B=1 ROOM=1", "row A=1 B=2 ROOM=1", "row A=1 B=1 ROOM=2"));
}

TEST(Candidates, BeginWithTheFastest) {
  EXPECT_THAT(chosen("row A=2 B=2 ROOM=1", 8),
              ElementsAre("row A=1 B=1 ROOM=1", "row A=1 B=1 ROOM=2"));
  EXPECT_THAT(chosen("row A=2 B=2 ROOM=1", 1), ElementsAre("row A=1 B=1 ROOM=1"));
  // Also if it brings nothing: what runs now is slower.
  const std::vector<MeasuredVariant> two = {{"row A=1", "", 10}, {"row A=1 ", "", 11}};
  EXPECT_THAT(choose_candidates(two, "row A=1 ", 8, 2), ElementsAre("row A=1"));
}

TEST(Candidates, NearAPickDifferInFewParameters) {
  const std::vector<std::string> tried = {"row A=1 B=1 ROOM=1", "row A=2 B=2 ROOM=2"};
  const auto near = [&](std::size_t max, double max_ratio) {
    return nearest_variants(kMeasured, "row A=1 B=1 ROOM=2", tried, max, max_ratio);
  };
  EXPECT_THAT(near(2, 1.25), ElementsAre("row A=2 B=1 ROOM=1", "row A=1 B=2 ROOM=1"));
  EXPECT_THAT(near(9, 1.25).back(), "row A=2 B=2 ROOM=1") << "all three parameters differ";
  EXPECT_THAT(near(9, 1.5), Contains("row A=3 B=1 ROOM=1"));
}

TEST(Candidates, LeaveOutWhatIsMuchSlower) {
  EXPECT_THAT(chosen("row A=1 B=1 ROOM=1", 8, 1.5).back(), "row A=3 B=1 ROOM=1");
  EXPECT_THAT(chosen("row A=1 B=1 ROOM=1", 8, 100).back(), "tile A=1");
  EXPECT_THAT(choose_candidates({}, "row A=1 B=1 ROOM=1", 8, 2), IsEmpty());
}

}  // namespace
}  // namespace mgtune::engine

#include "compile/group_size.h"

#include <gtest/gtest.h>

namespace mgtune {
namespace {

TEST(GroupSize, AGroupTakesAboutASecond) {
  GroupSize size(kMostTogether);
  EXPECT_EQ(size.wanted("norm"), 1U) << "nothing is known";
  const auto after = [](double seconds) {
    GroupSize one(kMostTogether);
    one.report("norm", seconds);
    return one.wanted("norm");
  };
  EXPECT_EQ(after(0), kMostTogether);
  EXPECT_EQ(after(0.01), kMostTogether);
  EXPECT_EQ(after(0.19), 5U);
  EXPECT_EQ(after(0.3), 3U);
  EXPECT_EQ(after(0.51), 1U);
  EXPECT_EQ(after(100), 1U);
}

TEST(GroupSize, EachOperatorHasItsOwn) {
  GroupSize size(kMostTogether);
  size.report("light", 0.125);
  size.report("heavy", 3);
  EXPECT_EQ(size.wanted("light"), 8U);
  EXPECT_EQ(size.wanted("heavy"), 1U);
  EXPECT_EQ(size.wanted("other"), 1U);
}

TEST(GroupSize, AllOfTheFirstCountAndLaterTheLast) {
  GroupSize size(kMostTogether);
  size.report("norm", 0.1);
  size.report("norm", 0.7);
  EXPECT_EQ(size.wanted("norm"), 2U) << "0.4 s";
  size.report("norm", 0.1);
  EXPECT_EQ(size.wanted("norm"), 3U) << "0.3 s";
  for (int i = 0; i < 1000; ++i) size.report("norm", 0.1);
  EXPECT_EQ(size.wanted("norm"), kMostTogether);
  size.report("norm", 1);
  EXPECT_EQ(size.wanted("norm"), 6U) << "a sixteenth of the way: 0.156 s";
  for (int i = 0; i < 64; ++i) size.report("norm", 1);
  EXPECT_EQ(size.wanted("norm"), 1U);
}

TEST(GroupSize, NoProcessGetsMoreThanItsPart) {
  GroupSize size(kMostTogether);
  size.report("norm", 0.2);
  EXPECT_EQ(size.of("norm", 100, 16), 5U);
  EXPECT_EQ(size.of("norm", 79, 16), 4U);
  EXPECT_EQ(size.of("norm", 32, 16), 2U);
  EXPECT_EQ(size.of("norm", 31, 16), 1U);
  EXPECT_EQ(size.of("norm", 1, 16), 1U);
  EXPECT_EQ(size.of("other", 100, 16), 1U);
  GroupSize none(1);
  none.report("norm", 0.1);
  EXPECT_EQ(none.of("norm", 100, 1), 1U);
}

}  // namespace
}  // namespace mgtune

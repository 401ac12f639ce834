#include <gtest/gtest.h>

#include "core/text.h"

namespace mgtune {
namespace {

TEST(NaturalOrder, RunsOfDigitsAreNumbers) {
  EXPECT_LT(compare_naturally("rows=64", "rows=4096"), 0);
  EXPECT_GT(compare_naturally("rows=4096", "rows=64"), 0);
  EXPECT_LT(compare_naturally("rows=64 a=2", "rows=64 a=10"), 0);
  EXPECT_LT(compare_naturally("99999999999999999999998", "99999999999999999999999"), 0);
  EXPECT_EQ(compare_naturally("a007", "a7"), 0);
  EXPECT_EQ(compare_naturally("", ""), 0);
}

TEST(NaturalOrder, OtherCharactersAreTheirBytes) {
  EXPECT_LT(compare_naturally("A", "a"), 0);
  EXPECT_LT(compare_naturally("a", "ab"), 0);
  EXPECT_GT(compare_naturally("ab", "a"), 0);
  EXPECT_LT(compare_naturally("", "0"), 0);
}

}  // namespace
}  // namespace mgtune

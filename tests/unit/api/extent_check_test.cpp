#include "api/extent_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "tests/helpers/operators/toy_operators.h"

namespace mgtune {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

class ExtentCheckTest : public testing::Test {
 protected:
  Status check(std::int64_t rows, std::int64_t stride) const {
    const std::array<std::int64_t, 2> dims = {rows, stride};
    return check_.check(dims);
  }

  const Operator op_ = toy_norm();
  const Binding binding_ = bound(op_, {{"hidden", "64"}, {"T", "f32"}});
  const ExtentCheck check_{binding_};
};

TEST_F(ExtentCheckTest, RefusesStridesThatWrap) {
  for (const std::int64_t stride :
       {kMost, kMost / 2, kMost / 2 + 1, kMost / 4 + 2, kMost - 63, std::int64_t{1} << 46U}) {
    const Status status = check(3, stride);
    EXPECT_EQ(status.code(), StatusCode::invalid_argument) << stride;
    EXPECT_THAT(status.message(), HasSubstr("tensor 'x' is larger than any memory"));
  }
  // 2^32 rows of 2^32 elements make 2^64, which wraps to 0.
  EXPECT_FALSE(check(std::int64_t{1} << 32U, std::int64_t{1} << 32U).ok());
  EXPECT_FALSE(check(kMost, kMost).ok());
}

TEST_F(ExtentCheckTest, AStrideThatNothingIsReachedByDoesNoHarm) {
  EXPECT_TRUE(check(1, kMost).ok());
  EXPECT_TRUE(check(0, kMost).ok());
}

TEST_F(ExtentCheckTest, LeavesWhatFitsAlone) {
  EXPECT_TRUE(check(4096, -1).ok());
  EXPECT_TRUE(check(std::int64_t{1} << 30U, 64).ok());
  EXPECT_TRUE(check(1000, std::int64_t{1} << 33U).ok());
}

TEST_F(ExtentCheckTest, DimsThatAreNoneAreTheLaunchsToRefuse) {
  EXPECT_FALSE(check(std::int64_t{1} << 40U, -7).ok());
  EXPECT_TRUE(check(-7, -7).ok());
}

}  // namespace
}  // namespace mgtune

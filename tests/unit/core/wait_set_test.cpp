#include "system/wait_set.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "system/file_descriptor.h"

namespace mgtune {
namespace {

using std::chrono::milliseconds;
using Clock = WaitSet::Clock;

class WaitSetTest : public ::testing::Test {
 protected:
  WaitSetTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    out_ = FileDescriptor(ends[0]);
    in_ = FileDescriptor(ends[1]);
    waiting_.add(out_.get());
  }

  milliseconds time_to_wait() {
    const Clock::time_point start = Clock::now();
    waiting_.wait();
    return std::chrono::duration_cast<milliseconds>(Clock::now() - start);
  }

  WaitSet waiting_;
  FileDescriptor out_, in_;
};

TEST_F(WaitSetTest, TheFirstDeadlineEndsIt) {
  waiting_.add(Clock::now() + std::chrono::hours(1));
  waiting_.add(Clock::now() + milliseconds(30));
  waiting_.add(Clock::now() + std::chrono::hours(2));
  const milliseconds waited = time_to_wait();
  EXPECT_GE(waited, milliseconds(29));
  EXPECT_LT(waited, std::chrono::minutes(1));
}

TEST_F(WaitSetTest, ADeadlineThatHasPassedIsNotWaitedFor) {
  waiting_.add(Clock::now() - milliseconds(1));
  EXPECT_LT(time_to_wait(), std::chrono::minutes(1));
}

TEST_F(WaitSetTest, SomethingToReadEndsIt) {
  ASSERT_EQ(::write(in_.get(), "x", 1), 1);
  waiting_.add(Clock::now() + std::chrono::hours(1));
  EXPECT_LT(time_to_wait(), std::chrono::minutes(1));
}

TEST_F(WaitSetTest, TheOthersEndEndsIt) {
  in_.close();
  EXPECT_LT(time_to_wait(), std::chrono::minutes(1));
}

TEST(WaitSet, ForNothingItNeverWaits) { WaitSet().wait(); }

}  // namespace
}  // namespace mgtune

#include <gtest/gtest.h>

#include <string>

#include "sweep/sweep.h"
#include "tests/helpers/operators/golden_operators.h"
#include "tests/helpers/operators/toy_operators.h"

namespace mgtune {
namespace {

std::chrono::milliseconds deadline(DeviceKind device, const std::string& bytes) {
  const Operator op =
      *decode_text("toy.norm", replaced(kToyNorm, "2 * rows * hidden * sizeof(T)", bytes));
  const Problem problem = *bind_problem(op, {{"rows", "4"}, {"hidden", "64"}, {"T", "f32"}});
  const Result<std::chrono::milliseconds> result = measure_deadline(device, {problem});
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? *result : std::chrono::milliseconds(-1);
}

TEST(MeasureDeadline, GrowsWithWhatIsCheckedOrEmulated) {
  EXPECT_EQ(deadline(DeviceKind::cuda, "0"), std::chrono::seconds(20));
  EXPECT_EQ(deadline(DeviceKind::cuda, "1000 * 1048576"), std::chrono::seconds(20 + 62));
  EXPECT_EQ(deadline(DeviceKind::cpu, "0"), std::chrono::seconds(30));
  EXPECT_EQ(deadline(DeviceKind::cpu, "1000 * 1048576"), std::chrono::seconds(1030));
}

TEST(MeasureDeadline, IsADayAtMost) {
  EXPECT_EQ(deadline(DeviceKind::cpu, "9223372036854775807"), std::chrono::hours(24));
}

}  // namespace
}  // namespace mgtune

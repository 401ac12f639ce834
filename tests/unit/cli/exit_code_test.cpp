#include "cli/exit_code.h"

#include <gtest/gtest.h>

namespace mgtune {
namespace {

int code(StatusCode status) { return static_cast<int>(exit_code(status)); }

TEST(ExitCode, SaysWhoIsToBlame) {
  EXPECT_EQ(code(StatusCode::ok), 0);
  EXPECT_EQ(code(StatusCode::invalid_argument), 2);
  EXPECT_EQ(code(StatusCode::not_found), 2);
  EXPECT_EQ(code(StatusCode::environment), 4);
  EXPECT_EQ(code(StatusCode::device_lost), 4);
  EXPECT_EQ(code(StatusCode::corrupt), 5);
  EXPECT_EQ(code(StatusCode::incompatible), 5);
  EXPECT_EQ(code(StatusCode::io), 5);
  EXPECT_EQ(code(StatusCode::internal), 70);
}

TEST(ExitCode, SignalsAreThoseOfAShell) {
  EXPECT_EQ(static_cast<int>(ExitCode::interrupted), 128 + 2);
  EXPECT_EQ(static_cast<int>(ExitCode::terminated), 128 + 15);
}

}  // namespace
}  // namespace mgtune

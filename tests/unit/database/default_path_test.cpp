#include "database/default_path.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/helpers/environment_variable.h"

namespace mgtune {
namespace {

TEST(DefaultDatabasePath, APlaceThatTheEnvironmentDoesNotNameIsExplained) {
  const auto message = [](const char* data, const char* home) {
    const Variable database("MGTUNE_DB", "");
    const Variable data_home("XDG_DATA_HOME", data);
    const Variable own_home("HOME", home);
    return default_database_path().status().message();
  };
  EXPECT_TRUE(message("", "").starts_with(
      "there is no place for the results database: XDG_DATA_HOME is not set, and HOME is not set"));
  EXPECT_TRUE(message("", "here")
                  .starts_with("there is no place for the results database: XDG_DATA_HOME is not "
                               "set, and HOME is 'here', "
                               "which is not an absolute path"));
  EXPECT_TRUE(message("../data", "")
                  .starts_with("there is no place for the results database: XDG_DATA_HOME is "
                               "'../data', which is not an "
                               "absolute path, and HOME is not set"));
}

TEST(DefaultDatabasePath, IsTheFirstThatTheEnvironmentNames) {
  ::setenv("HOME", "/home/someone", 1);
  ::unsetenv("MGTUNE_DB");
  ::unsetenv("XDG_DATA_HOME");
  EXPECT_EQ(*default_database_path(), "/home/someone/.local/share/mgtune/results.db");
  ::setenv("XDG_DATA_HOME", "relative", 1);  // to be ignored, says the XDG specification
  EXPECT_EQ(*default_database_path(), "/home/someone/.local/share/mgtune/results.db");
  ::setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(*default_database_path(), "/data/mgtune/results.db");
  ::setenv("MGTUNE_DB", "here.db", 1);
  EXPECT_EQ(*default_database_path(), "here.db");
}

TEST(DefaultDatabasePath, IsNotTheCurrentFolder) {
  for (const char* home : {"", "relative"}) {
    ::setenv("HOME", home, 1);
    ::unsetenv("MGTUNE_DB");
    ::unsetenv("XDG_DATA_HOME");
    const Status status = default_database_path().status();
    EXPECT_EQ(status.code(), StatusCode::environment);
    EXPECT_NE(status.message().find("set XDG_DATA_HOME to an absolute path, or name the database"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace mgtune

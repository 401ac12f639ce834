#include "sweep/device_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "tests/helpers/temporary_folder.h"

namespace mgtune {
namespace {

TEST(DeviceLock, TheSecondIsToldWhoHoldsIt) {
  const TemporaryFolder folder;
  std::optional<Result<DeviceLock>> first = DeviceLock::acquire(folder.path(), "cpu");
  ASSERT_TRUE(first->ok()) << first->status().message();
  const Result<DeviceLock> second = DeviceLock::acquire(folder.path(), "cpu");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::environment);
  EXPECT_THAT(
      second.status().message(),
      ::testing::HasSubstr("(process " + std::to_string(getpid()) + ") is using device cpu"));
  first.reset();
  EXPECT_TRUE(DeviceLock::acquire(folder.path(), "cpu").ok());
}

TEST(DeviceLock, DevicesDoNotExcludeEachOther) {
  const TemporaryFolder folder;
  const Result<DeviceLock> cpu = DeviceLock::acquire(folder.path(), "cpu");
  const Result<DeviceLock> gpu = DeviceLock::acquire(folder.path(), "GPU-01234567");
  EXPECT_TRUE(cpu.ok());
  EXPECT_TRUE(gpu.ok());
}

TEST(DeviceLock, GoesWithAProcessHoweverItEnds) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    const Result<DeviceLock> lock = DeviceLock::acquire(folder.path(), "cpu");
    _exit(lock.ok() ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(WEXITSTATUS(status), 7);
  EXPECT_TRUE(DeviceLock::acquire(folder.path(), "cpu").ok());
}

TEST(DeviceLock, MakesItsFolderAndNamesOneItCannotMake) {
  const TemporaryFolder folder;
  EXPECT_TRUE(DeviceLock::acquire(folder.file("a/b"), "cpu").ok());
  const Result<DeviceLock> lock = DeviceLock::acquire("/proc/nowhere", "cpu");
  ASSERT_FALSE(lock.ok());
  EXPECT_THAT(lock.status().message(), ::testing::HasSubstr("/proc/nowhere"));
}

}  // namespace
}  // namespace mgtune

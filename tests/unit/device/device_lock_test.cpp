#include "device/device_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

std::string lock_file(const TestFolder& folder) { return folder.file("mgtune-GPU-0.lock"); }

TEST(DeviceLock, TheSecondIsToldWhoHoldsIt) {
  const TestFolder folder;
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
  const TestFolder folder;
  const Result<DeviceLock> cpu = DeviceLock::acquire(folder.path(), "cpu");
  const Result<DeviceLock> gpu = DeviceLock::acquire(folder.path(), "GPU-01234567");
  EXPECT_TRUE(cpu.ok());
  EXPECT_TRUE(gpu.ok());
}

TEST(DeviceLock, GoesWithAProcessHoweverItEnds) {
  const TestFolder folder;
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

TEST(DeviceLock, EveryoneCanOpenItWhateverTheUmask) {
  const TestFolder folder;
  const mode_t before = ::umask(077);
  const Result<DeviceLock> lock = DeviceLock::acquire(folder.path(), "GPU-0");
  ::umask(before);
  ASSERT_TRUE(lock.ok());
  struct stat info {};
  ASSERT_EQ(::stat(lock_file(folder).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0666U);
}

TEST(DeviceLock, WhatOthersLaidThereIsNeitherFollowedNorWritten) {
  const TestFolder folder;
  const std::string victim = folder.file("victim");
  std::ofstream(victim) << "precious";
  const auto expect_refused = [&](const char* what) {
    const Result<DeviceLock> lock = DeviceLock::acquire(folder.path(), "GPU-0");
    EXPECT_EQ(lock.status().code(), StatusCode::environment) << what;
    EXPECT_THAT(lock.status().message(), ::testing::HasSubstr(lock_file(folder))) << what;
    ::remove(lock_file(folder).c_str());
  };
  ASSERT_EQ(::symlink(victim.c_str(), lock_file(folder).c_str()), 0);
  expect_refused("symbolic link");
  ASSERT_EQ(::link(victim.c_str(), lock_file(folder).c_str()), 0);
  expect_refused("hard link");
  ASSERT_EQ(::mkfifo(lock_file(folder).c_str(), 0666), 0);
  expect_refused("pipe");
  ASSERT_EQ(::mkdir(lock_file(folder).c_str(), 0777), 0);
  expect_refused("folder");
  std::string content;
  std::getline(std::ifstream(victim), content);
  EXPECT_EQ(content, "precious");
}

TEST(DeviceLock, AHolderThatIsNoNumberOrGoneIsNotNamed) {
  const TestFolder folder;
  const Result<DeviceLock> first = DeviceLock::acquire(folder.path(), "GPU-0");
  ASSERT_TRUE(first.ok());
  for (const char* text : {"", "\x1b[31mred", "-1\n", "0\n", "2147483647\n"}) {
    std::ofstream(lock_file(folder)) << text;
    const Result<DeviceLock> second = DeviceLock::acquire(folder.path(), "GPU-0");
    EXPECT_THAT(second.status().message(),
                ::testing::StartsWith("another sweep is using device GPU-0"));
  }
}

TEST(DeviceLock, LiesWhereEveryUserOfAGpuLooks) {
  const std::string shared = DeviceLock::default_directory(DeviceKind::cuda);
  EXPECT_THAT(shared, ::testing::AnyOf("/run/lock", "/tmp"));
  ::setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(DeviceLock::default_directory(DeviceKind::cuda), shared);
  EXPECT_EQ(DeviceLock::default_directory(DeviceKind::cpu), "/data/mgtune");
  ::unsetenv("XDG_DATA_HOME");
  ::setenv("HOME", "/home/someone", 1);
  EXPECT_EQ(DeviceLock::default_directory(DeviceKind::cpu), "/home/someone/.local/share/mgtune");
  ::unsetenv("HOME");
  EXPECT_EQ(DeviceLock::default_directory(DeviceKind::cpu), shared);
}

TEST(DeviceLock, MakesItsFolderAndNamesOneItCannotMake) {
  const TestFolder folder;
  EXPECT_TRUE(DeviceLock::acquire(folder.file("a/b"), "cpu").ok());
  const Result<DeviceLock> lock = DeviceLock::acquire("/proc/nowhere", "cpu");
  ASSERT_FALSE(lock.ok());
  EXPECT_THAT(lock.status().message(), ::testing::HasSubstr("/proc/nowhere"));
}

}  // namespace
}  // namespace mgtune

// What Ctrl-C, SIGTERM and a closed terminal leave of a sweep: its results, and nothing else.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>

#include "device/device_lock.h"
#include "store/store.h"
#include "tests/helpers/environment_variable.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A compiler or a kernel that is not stopped runs for a minute or longer.
constexpr milliseconds kLimit{30'000};
// Without a sanitizer less than the 1.25 s that the first signal gives to the workers. Instrumented
// code and its memory take several times as long to go.
constexpr bool kSanitized = std::string_view(MGTUNE_SANITIZE) != "";
constexpr milliseconds kAtOnce{kSanitized ? 2800 : 700};

class CliInterruptTest : public VectorAddTest {
 protected:
  void SetUp() override {
    edit("add.json", R"(["good", "wrong", "broken"])", R"(["good", "wrong"])");
    std::string blocks;  // more variants than 16 compilers have in hand
    for (int threads = 32; threads <= 1024; threads += 32) {
      blocks += (blocks.empty() ? "" : ", ") + std::to_string(threads);
    }
    edit("add.json", "[32, 64, 128]", "[" + blocks + "]");
  }

  void start() {
    mgtune_.start({"sweep", "--gpu", "cpu", "--kernel", family_, "--strategy", "exhaustive",
                   "--budget", "15m"});  // all of them, however slow the machine
  }

  // With slow_compiler().
  void start_until_a_compiler_is_slow() {
    start();
    ASSERT_TRUE(mgtune_.wait_until([&] { return rows() > 0; }));
    std::ofstream(mark()) << "slow";
    ASSERT_TRUE(mgtune_.wait_until([&] { return std::filesystem::exists(mark() + ".reached"); }));
  }

  std::string mark() const { return mgtune_.folder().file("mark"); }

  // Compiles as always until the mark is there; then a child of it sleeps, as cc1plus would work.
  std::string slow_compiler() {
    const std::string path = mgtune_.folder().file("compiler");
    std::ofstream(path) << "#!/bin/sh\nfor word; do [ \"$word\" = --version ] && exec c++ "
                           "--version; done\n[ -e "
                        << mark() << " ] && { touch $TMPDIR/cc1234.s; echo > " << mark()
                        << ".reached; sleep 60; exit 1; }\nexec c++ \"$@\"\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  // A kernel that does not come back for minutes.
  void make_kernels_slow() {
    edit("add.cu", "  T sum",
         "  if (kMode == MODE::wrong) {\n"
         "    volatile mg::i64 turns = 0;\n"
         "    while (turns < (1ll << 40)) turns = turns + 1;\n"
         "  }\n  T sum");
  }

  std::size_t rows() {
    const Result<Store> store = Store::open(mgtune_.database(), Store::Mode::read_only);
    return store.ok() ? const_cast<Store&>(*store).outcomes()->size() : 0;
  }

  // After a signal that stopped it: all that was there is there, and nothing else.
  void expect_left_tidy(const Ended& ended, int exit_code, std::size_t rows_before) {
    EXPECT_EQ(ended.exit_code, exit_code) << ended;
    EXPECT_FALSE(ended.by_signal);
    // A busy machine takes a moment to end a process that was killed.
    EXPECT_TRUE(mgtune_.time_to_be_gone(kLimit).has_value()) << "a process is left";
    std::string left;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(mgtune_.temporary_files())) {
      left += entry.path().string() + "\n";
    }
    EXPECT_EQ(left, "");
    EXPECT_FALSE(std::filesystem::exists(mgtune_.database() + "-wal"));
    EXPECT_TRUE(DeviceLock::acquire(mgtune_.data_folder(), "cpu").ok());
    EXPECT_GE(rows(), rows_before);
    for (const OutcomeView& row :
         *Store::open(mgtune_.database(), Store::Mode::read_only)->outcomes()) {
      EXPECT_THAT(row.outcome, ::testing::AnyOf(Outcome::ok, Outcome::raced_out, Outcome::wrong))
          << row.variant << ": " << row.message;
    }
  }
};

class CliInterruptSignalTest : public CliInterruptTest,
                               public ::testing::WithParamInterface<std::pair<int, int>> {};

INSTANTIATE_TEST_SUITE_P(Signals, CliInterruptSignalTest,
                         ::testing::Values(std::pair(SIGINT, 130), std::pair(SIGTERM, 143),
                                           std::pair(SIGHUP, 129)),
                         [](const auto& test) {
                           return std::string("sig") + ::sigabbrev_np(test.param.first);
                         });

TEST_P(CliInterruptSignalTest, StopsItWhileACompilerRuns) {
  const Variable cxx("CXX", slow_compiler());
  ASSERT_NO_FATAL_FAILURE(start_until_a_compiler_is_slow());
  const std::size_t before = rows();
  const Clock::time_point begin = Clock::now();
  const Ended ended = mgtune_.finish(GetParam().first);
  EXPECT_LT(Clock::now() - begin, kLimit);
  expect_left_tidy(ended, GetParam().second, before);
  EXPECT_THAT(ended.err, HasSubstr("the same command goes on from here"));
}

TEST_F(CliInterruptTest, StopsItWhileAKernelRuns) {
  make_kernels_slow();
  start();
  ASSERT_TRUE(mgtune_.wait_until([&] { return rows() > 0; }));
  std::this_thread::sleep_for(milliseconds(500));  // the next one's
  const std::size_t before = rows();
  const Clock::time_point begin = Clock::now();
  const Ended ended = mgtune_.finish(SIGINT);
  EXPECT_LT(Clock::now() - begin, kLimit);
  expect_left_tidy(ended, 130, before);
}

TEST_F(CliInterruptTest, TheSecondSignalEndsItAtOnce) {
  const Variable cxx("CXX", slow_compiler());
  ASSERT_NO_FATAL_FAILURE(start_until_a_compiler_is_slow());
  const std::size_t before = rows();
  mgtune_.send(SIGINT);
  std::this_thread::sleep_for(milliseconds(200));
  ASSERT_TRUE(mgtune_.runs());
  const Clock::time_point begin = Clock::now();
  const Ended ended = mgtune_.finish(SIGINT);
  EXPECT_LT(Clock::now() - begin, kAtOnce);
  expect_left_tidy(ended, 130, before);
}

// scancel and a service manager signal the workers and compilers too.
TEST_F(CliInterruptTest, ASignalToAllOfItsProcessesBlamesNoVariant) {
  start();
  ASSERT_TRUE(mgtune_.wait_until([&] { return rows() > 0; }));
  const std::size_t before = rows();
  for (const pid_t process : mgtune_.processes()) ::kill(process, SIGTERM);
  const Clock::time_point begin = Clock::now();
  const Ended ended = mgtune_.finish();
  EXPECT_LT(Clock::now() - begin, kLimit);
  expect_left_tidy(ended, 143, before);
}

TEST_F(CliInterruptTest, WhatWasIgnoredStaysIgnored) {
  mgtune_.with_ignored_signal(SIGHUP);  // nohup mgtune sweep
  start();
  ASSERT_TRUE(mgtune_.wait_until([&] { return rows() > 0; }));
  const Ended ended = mgtune_.finish(SIGHUP);
  EXPECT_EQ(ended.exit_code, 3) << ended;
  EXPECT_EQ(rows(), 64U);
}

}  // namespace
}  // namespace mgtune

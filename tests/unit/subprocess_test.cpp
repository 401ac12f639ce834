#include "build/subprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mgtune {
namespace {

using testing::HasSubstr;

Subprocess call(std::vector<std::string> arguments) {
  Subprocess command;
  command.arguments = std::move(arguments);
  return command;
}

TEST(Subprocess, BringsBackOutputAndCode) {
  const Result<SubprocessOutcome> outcome =
      run_subprocess(call({"sh", "-c", "echo out; echo error >&2; exit 3"}));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.value().exit_code, 3);
  EXPECT_EQ(outcome.value().output, "out\nerror\n");
}

TEST(Subprocess, PassesArgumentsAsTheyAre) {
  EXPECT_EQ(run_subprocess(call({"printf", "%s|", "a b", "$HOME", "'; true"})).value().output,
            "a b|$HOME|'; true|");
}

TEST(Subprocess, RunsInItsFolderWithoutInput) {
  Subprocess command = call({"sh", "-c", "pwd; cat"});
  command.directory = "/usr";
  EXPECT_EQ(run_subprocess(command).value().output, "/usr\n");
}

TEST(Subprocess, ReadsMoreThanAPipeHolds) {
  const SubprocessOutcome outcome =
      run_subprocess(call({"sh", "-c", "yes | head -c 6000000"})).value();
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.output.size(), std::size_t{4} << 20);
}

TEST(Subprocess, ReportsTheSignal) {
  EXPECT_EQ(run_subprocess(call({"sh", "-c", "kill -SEGV $$"})).value().exit_code, 128 + 11);
}

TEST(Subprocess, SaysWhenThereIsNoSuchProgram) {
  const Status status = run_subprocess(call({"/nowhere/program"})).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr("'/nowhere/program'"));
}

TEST(Subprocess, EndsEverythingAtTheDeadline) {
  Subprocess command = call({"sh", "-c", "sleep 30 & sleep 30"});
  command.deadline = std::chrono::milliseconds(100);
  const auto start = std::chrono::steady_clock::now();
  const Status status = run_subprocess(command).status();
  EXPECT_EQ(status.code(), StatusCode::timeout);
  EXPECT_THAT(status.message(), HasSubstr("100 ms"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace mgtune

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "system/process.h"
#include "tests/helpers/test_folder.h"

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

TEST(Subprocess, SaysWhenItCannotEnterTheFolder) {
  Subprocess command = call({"true"});
  command.directory = "/nowhere";
  EXPECT_EQ(run_subprocess(command).status().code(), StatusCode::environment);
}

TEST(Subprocess, PutsItsTemporaryFilesWhereItIsTold) {
  Subprocess command = call({"sh", "-c", "echo $TMPDIR; env | grep -c ^TMPDIR="});
  command.temporary_folder = "/somewhere";
  EXPECT_EQ(run_subprocess(command).value().output, "/somewhere\n1\n");
}

TEST(Subprocess, HoldsNoFileOfThisProcessOpen) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const TestFolder folder;
  const std::string runs = folder.file("runs");
  // It runs until the test removes the file that it makes.
  std::jthread program([&] {
    const std::string wait = "touch " + runs + "; while [ -e " + runs + " ]; do sleep 0.01; done";
    static_cast<void>(run_subprocess(call({"sh", "-c", wait})).ok());
  });
  while (::access(runs.c_str(), F_OK) != 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::close(ends[1]);
  pollfd end{ends[0], POLLIN, 0};
  EXPECT_EQ(::poll(&end, 1, 30'000), 1) << "the program could still write";
  EXPECT_EQ(end.revents, POLLHUP);
  ::unlink(runs.c_str());
  ::close(ends[0]);
}

// Whether the process runs; one that is dead and not collected does not.
bool process_runs(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string stat;
  std::getline(file, stat, '\0');
  const std::size_t name_end = stat.rfind(") ");
  return name_end != std::string::npos && stat[name_end + 2] != 'Z';
}

TEST(Subprocess, DiesWithThisProcessAndTakesItsChildrenAlong) {
  const TestFolder folder;
  const std::string pids = folder.file("pids");
  const pid_t parent = ::fork();
  if (parent == 0) {
    static_cast<void>(run_subprocess(call({"sh", "-c",
                                           "sleep 60 & echo $$ $! > " + pids + ".new; mv " + pids +
                                               ".new " + pids + "; wait"}))
                          .ok());
    ::_exit(0);
  }
  pid_t program = 0, child = 0;
  for (int i = 0; i < 1000 && child == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::ifstream(pids) >> program >> child;
  }
  ASSERT_TRUE(process_runs(program) && process_runs(child));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  const auto start = std::chrono::steady_clock::now();
  while ((process_runs(program) || process_runs(child)) &&
         std::chrono::steady_clock::now() - start < std::chrono::seconds(30)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_FALSE(process_runs(program));
  EXPECT_FALSE(process_runs(child));
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

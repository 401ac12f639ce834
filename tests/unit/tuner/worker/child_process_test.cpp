#include "worker/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mgtune {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using ::testing::HasSubstr;

Result<ChildProcess> shell(const std::string& script) {
  return ChildProcess::start({"/bin/sh", "-c", script});
}

Clock::time_point soon() { return Clock::now() + milliseconds(5000); }

bool is_running(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(status, text);
  const std::size_t end = text.rfind(')');
  return end != std::string::npos && text.size() > end + 2 && text[end + 2] != 'Z';
}

bool goes_soon(pid_t pid) {
  for (int i = 0; i < 2000 && is_running(pid); ++i) std::this_thread::sleep_for(milliseconds(1));
  return !is_running(pid);
}

TEST(ChildProcess, LinesGoInAndComeBack) {
  Result<ChildProcess> cat = ChildProcess::start({"/bin/cat"});
  ASSERT_TRUE(cat.ok()) << cat.status().message();
  ASSERT_TRUE(cat->write_line("first").ok());
  ASSERT_TRUE(cat->write_line("").ok());
  ASSERT_TRUE(cat->write_line("third").ok());
  for (const char* expected : {"first", "", "third"}) {
    const Result<std::string> line = cat->read_line(soon());
    ASSERT_TRUE(line.ok()) << line.status().message();
    EXPECT_EQ(*line, expected);
  }
}

TEST(ChildProcess, ALongLineComesWhole) {
  Result<ChildProcess> child = shell("head -c 1000000 /dev/zero | tr '\\0' x; echo");
  ASSERT_TRUE(child.ok());
  const Result<std::string> line = child->read_line(soon());
  ASSERT_TRUE(line.ok()) << line.status().message();
  EXPECT_EQ(*line, std::string(1000000, 'x'));
}

TEST(ChildProcess, ALineWithoutEndIsRefused) {
  Result<ChildProcess> child = shell("exec tr '\\0' x < /dev/zero");
  ASSERT_TRUE(child.ok());
  const Result<std::string> line = child->read_line(soon());
  ASSERT_FALSE(line.ok());
  EXPECT_EQ(line.status().code(), StatusCode::io);
  EXPECT_THAT(line.status().message(), HasSubstr("a line of over"));
}

TEST(ChildProcess, AMissingProgramIsNamed) {
  const Result<ChildProcess> child = ChildProcess::start({"/no/such/program", "worker"});
  ASSERT_FALSE(child.ok());
  EXPECT_EQ(child.status().code(), StatusCode::environment);
  EXPECT_EQ(child.status().message(), "cannot run '/no/such/program': No such file or directory");
}

TEST(ChildProcess, TheDeadlinePasses) {
  Result<ChildProcess> child = shell("exec sleep 60");
  ASSERT_TRUE(child.ok());
  const Clock::time_point start = Clock::now();
  EXPECT_EQ(child->read_line(start + milliseconds(50)).status().code(), StatusCode::timeout);
  EXPECT_GE(Clock::now() - start, milliseconds(50));
  EXPECT_LT(Clock::now() - start, milliseconds(30'000));
  EXPECT_EQ(child->read_line(start).status().code(), StatusCode::timeout);  // long past
}

TEST(ChildProcess, EndlessErrorOutputDoesNotPostponeTheDeadline) {
  Result<ChildProcess> child = shell("tr '\\0' x < /dev/zero >&2; true");
  ASSERT_TRUE(child.ok());
  const Clock::time_point start = Clock::now();
  EXPECT_EQ(child->read_line(start + milliseconds(100)).status().code(), StatusCode::timeout);
  EXPECT_LT(Clock::now() - start, milliseconds(30'000));
  EXPECT_LE(child->read_error_output().size(), std::size_t{64} << 10);
}

TEST(ChildProcess, AnExitIsDescribed) {
  Result<ChildProcess> child = shell("echo last words >&2; exit 7");
  ASSERT_TRUE(child.ok());
  const Result<std::string> line = child->read_line(soon());
  EXPECT_EQ(line.status().code(), StatusCode::io);
  EXPECT_EQ(line.status().message(), "the child process has ended");
  EXPECT_EQ(child->end_description(), "exited with 7");
  EXPECT_EQ(child->read_error_output(), "last words\n");
  EXPECT_EQ(child->read_error_output(), "");
}

TEST(ChildProcess, ASignalIsDescribed) {
  Result<ChildProcess> child = shell("kill -SEGV $$");
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child->read_line(soon()).status().code(), StatusCode::io);
  EXPECT_EQ(child->end_description(), "killed by signal 11 (Segmentation fault)");
}

TEST(ChildProcess, LinesBeforeTheEndAreStillRead) {
  Result<ChildProcess> child = shell("echo one; echo two; exit 1");
  ASSERT_TRUE(child.ok());
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(child->read_line(soon()).value(), "one");
  EXPECT_EQ(child->read_line(soon()).value(), "two");
  EXPECT_EQ(child->read_line(soon()).status().code(), StatusCode::io);
}

TEST(ChildProcess, WritingToADeadChildIsAnErrorAndNoSignal) {
  Result<ChildProcess> child = shell("exit 0");
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child->read_line(soon()).status().code(), StatusCode::io);
  child->end_description();
  const Status status = child->write_line("anyone?");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::io);
  EXPECT_THAT(status.message(), HasSubstr("Broken pipe"));
}

TEST(ChildProcess, AChildThatClosesItsOutputAndStaysIsKilled) {
  Result<ChildProcess> child = shell("exec >&-; exec sleep 60");
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child->read_line(soon()).status().code(), StatusCode::io);
  EXPECT_EQ(child->end_description(), "killed by signal 9 (Killed)");
}

TEST(ChildProcess, KillTakesGrandchildrenAlong) {
  Result<ChildProcess> child = shell("sleep 60 & echo $!; wait");
  ASSERT_TRUE(child.ok());
  const Result<std::string> line = child->read_line(soon());
  ASSERT_TRUE(line.ok());
  const auto grandchild = static_cast<pid_t>(std::stol(*line));
  EXPECT_TRUE(is_running(grandchild));
  child->kill();
  EXPECT_TRUE(goes_soon(grandchild));
}

TEST(ChildProcess, DestructionAndAssignmentKill) {
  pid_t pid = -1;
  {
    Result<ChildProcess> child = shell("echo $$; exec sleep 60");
    ASSERT_TRUE(child.ok());
    pid = static_cast<pid_t>(std::stol(child->read_line(soon()).value()));
    EXPECT_TRUE(is_running(pid));
    ChildProcess moved = std::move(*child);
    EXPECT_TRUE(is_running(pid));
    Result<ChildProcess> next = shell("exec sleep 60");
    ASSERT_TRUE(next.ok());
    moved = std::move(*next);
    EXPECT_TRUE(goes_soon(pid));
  }
}

TEST(ChildProcess, DiesWithItsParent) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t middle = ::fork();
  ASSERT_GE(middle, 0);
  if (middle == 0) {
    Result<ChildProcess> child = shell("echo $$; exec sleep 60");
    const std::string line = child.ok() ? child->read_line(soon()).value() + "\n" : "0\n";
    static_cast<void>(!::write(ends[1], line.data(), line.size()));
    ::kill(::getpid(), SIGKILL);  // no destructor runs
  }
  char text[32] = {};
  ASSERT_GT(::read(ends[0], text, sizeof text - 1), 0);
  const auto pid = static_cast<pid_t>(std::stol(text));
  ASSERT_GT(pid, 0);
  EXPECT_EQ(::waitpid(middle, nullptr, 0), middle);
  EXPECT_TRUE(goes_soon(pid));
  ::close(ends[0]);
  ::close(ends[1]);
}

std::vector<std::string> descriptors_of_a_child() {
  std::vector<std::string> lines;
  Result<ChildProcess> child = ChildProcess::start({"/bin/ls", "/proc/self/fd"});
  EXPECT_TRUE(child.ok());
  while (true) {
    Result<std::string> line = child->read_line(soon());
    if (!line.ok()) return lines;
    lines.push_back(*line);
  }
}

TEST(ChildProcess, ChildrenInheritNoneOfEachOthersPipes) {
  // Were they to, one would never see the end of its input while another lives.
  const std::vector<std::string> alone = descriptors_of_a_child();
  EXPECT_THAT(alone, ::testing::IsSupersetOf({"0", "1", "2"}));
  const Result<ChildProcess> other = ChildProcess::start({"/bin/cat"});
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(descriptors_of_a_child(), alone);
}

TEST(ChildProcess, WorksForAParentWithoutStandardInput) {
  const int saved = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  ::close(STDIN_FILENO);
  Result<ChildProcess> child = ChildProcess::start({"/bin/cat"});
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE(child->write_line("hello").ok());
  EXPECT_EQ(child->read_line(soon()).value(), "hello");
  child->kill();
  ::dup2(saved, STDIN_FILENO);
  ::close(saved);
}

}  // namespace
}  // namespace mgtune

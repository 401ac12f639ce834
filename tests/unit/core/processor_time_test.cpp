#include "system/processor_time.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace mgtune {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// A child whose own child uses a processor until it is killed.
pid_t start_busy_tree() {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::setpgid(0, 0);
  if (::fork() == 0) {
    volatile int turns = 0;
    while (true) turns = turns ^ 1;
  }
  while (true) ::pause();
}

TEST(ProcessorTime, ThatOfAGrandchildCounts) {
  const pid_t child = start_busy_tree();
  ::setpgid(child, child);
  const auto deadline = Clock::now() + std::chrono::seconds(30);
  while (processor_time_below(child) < milliseconds(50) && Clock::now() < deadline) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_GE(processor_time_below(child), milliseconds(50));
  EXPECT_LT(processor_time_of(child), milliseconds(50)) << "it only waits";
  ::kill(-child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(ProcessorTime, AProcessThatIsNotThereHasNone) {
  EXPECT_EQ(processor_time_of(-1), milliseconds(0));
  EXPECT_EQ(processor_time_below(-1), milliseconds(0));
}

}  // namespace
}  // namespace mgtune

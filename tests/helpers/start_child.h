// start_child: work in a child process of a test. Header-only.

#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mgtune {

// Runs the work in a fork of this process, which exits with its result.
template <typename Work>
pid_t start_child(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  EXPECT_GT(child, 0);
  return child;
}

// Waits for the child's end: its status, as waitpid() gives it.
inline int wait_for(pid_t child) {
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

}  // namespace mgtune

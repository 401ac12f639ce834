// How much time processors have spent on a tree of processes. Callable from any thread.

#pragma once

#include <sys/types.h>

#include <chrono>

namespace mgtune {

// The time of a process and of those that it started and waited for. 0 if /proc does not have it.
std::chrono::milliseconds processor_time_of(pid_t process);

// The same, plus the time of the processes below it that still run. All processes in /proc are
// read, which takes some milliseconds.
std::chrono::milliseconds processor_time_below(pid_t root);

// The processor time that the calling thread has used so far.
std::chrono::nanoseconds processor_time_of_this_thread();

}  // namespace mgtune

// WorkerProcess: the parent's side of one worker: its child process, and the one request that it
// has. Nothing here waits: submit() hands the request over, poll() says what came of it, join()
// what there is to wait for.
//
// What goes wrong is tried once more, alone in a new child process. What happens then is the
// variant's outcome, unless the worker had announced that it runs the problem's reference, or was
// ended from outside: no variant is to blame for that. A compiler that is not done in time has its
// outcome at once: minutes are lost already. One thread.

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "worker/child_process.h"
#include "worker/protocol.h"
#include "worker/wait_set.h"

namespace mgtune {

class WorkerProcess {
 public:
  // `command` starts a worker, e.g. {"/usr/bin/mgtune", "worker", "measure", "cpu", "emulation"};
  // nothing is started before the first request. `deadline` is for each of its steps: to begin (its
  // start included), and from there to be done.
  WorkerProcess(std::vector<std::string> command, std::chrono::milliseconds deadline);

  bool is_idle() const { return !work_.has_value(); }

  void submit(WorkRequest request);  // when idle

  // Once its request is done: the reply, `done` always; idle again then. nullopt before that. A
  // Status is what ends the sweep: invalid_argument for a reference that crashed or hung, what a
  // worker said of the machine (tried twice), environment when no child process begins its work.
  Result<std::optional<WorkReply>> poll();

  // Adds when poll() has something new; nothing when idle.
  void join(WaitSet& waiting) const;

  std::int64_t restarts() const { return restarts_; }  // child processes after the first

 private:
  using Clock = std::chrono::steady_clock;

  struct Work {
    WorkRequest request;
    bool is_retry = false;
    int failed_starts = 0;                // child processes that went before they began
    std::optional<WorkReply> begun = {};  // the last `begin` of the child it is given to
    Clock::time_point deadline = Clock::time_point::max();
  };

  Status give();
  Result<std::optional<WorkReply>> take(WorkReply reply);
  Result<std::optional<WorkReply>> lose(const Status& reason);
  Result<std::optional<WorkReply>> settle(WorkReply reply, bool again);
  Result<std::optional<WorkReply>> end(Result<std::optional<WorkReply>> result);

  std::vector<std::string> command_;
  std::chrono::milliseconds deadline_;
  std::optional<ChildProcess> child_;
  std::optional<Work> work_;
  bool started_ = false;
  std::int64_t restarts_ = 0;
};

}  // namespace mgtune

// WorkerProcess: the parent's side of one worker: its child process, and the one request that it
// has. Nothing here waits: submit() hands the request over, poll() says what came of it, join()
// what there is to wait for.
//
// What goes wrong is tried once more, alone in a new child process. What happens then is the
// variant's outcome, unless the worker had announced that it runs the problem's reference, or was
// ended from outside: no variant is to blame for that. A compiler that is not done in time has its
// outcome at once: minutes are lost already. One that was killed or found no memory is not tried
// again here, but where nothing compiles beside it (compile_pool.h). One thread.

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/status.h"
#include "worker/child_process.h"
#include "worker/protocol.h"
#include "measure/variant_deadline.h"
#include "worker/wait_set.h"

namespace mgtune {

class WorkerProcess {
 public:
  // `command` starts a worker, e.g. {"/usr/bin/mgtune", "worker", "measure", "cpu", "emulation"};
  // nothing is started before the first request. `deadline` is for each of its steps: to begin (its
  // start included), and from there to be done; less for a variant that is measured after another
  // of its problem was, see variant_deadline.h.
  WorkerProcess(std::vector<std::string> command, std::chrono::milliseconds deadline);

  bool is_idle() const { return !work_.has_value(); }

  // A request, whether another worker has failed at it already, and what it may take beyond the
  // deadline: a final's launches do.
  struct Task {
    WorkRequest request;
    bool is_retry = false;
    std::chrono::milliseconds more{};
  };
  void submit(Task task);  // when idle

  // The request and what came of it: `done` or, where that says nothing about the variant,
  // `failed` (end_of_sweep() makes a Status of it).
  struct Finished {
    WorkRequest request;
    WorkReply reply;
  };

  // nullopt while the worker is at it; idle again afterwards. A Status, environment, when no child
  // process begins its work: that is nothing of the request's, which take_unbegun() gives back.
  Result<std::optional<Finished>> poll();
  Task take_unbegun() { return std::move(unbegun_); }

  // Adds when poll() has something new; nothing when idle.
  void join(WaitSet& waiting) const;

  // Tells the child to go; all that may follow is the end of this object.
  void dismiss();

  std::int64_t restarts() const { return restarts_; }  // child processes after the first

 private:
  using Clock = std::chrono::steady_clock;

  struct Work {
    Task task;
    int failed_starts = 0;                // child processes that went before they began
    std::optional<WorkReply> begun = {};  // the last `begin` of the child it is given to
    Clock::time_point begun_at = {};
    std::chrono::milliseconds allowed{};  // for the step that it is at
    Clock::time_point deadline = Clock::time_point::max();
  };
  using Poll = Result<std::optional<Finished>>;

  Status give();
  void allow(std::chrono::milliseconds time);
  Poll take(WorkReply reply);
  Poll lose(const Status& reason);
  Poll settle(WorkReply reply, bool again);
  Poll give_back(Status why);

  std::vector<std::string> command_;
  VariantDeadline deadline_;
  std::optional<ChildProcess> child_;
  std::optional<Work> work_;
  Task unbegun_;
  bool started_ = false;
  std::int64_t restarts_ = 0;
};

}  // namespace mgtune

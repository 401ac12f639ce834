// WorkerProcess: the parent's side of one worker. It has the child process, the request that the
// child works on, and up to three more requests (kMostRequests). The child begins the next one as
// soon as it is done, without waiting for this process. submit() hands over a request, poll()
// returns the reply, join() says what to wait for; none of them waits. run() does all three for
// callers with a single worker.
//
// The child says which request it begins. So if it crashes, only this request is at fault. The
// other requests are sent to the next child, after the first one was tried again.
//
// A request that fails is tried once more, alone in a new child process. The second failure is the
// variant's outcome. But if the worker had announced that it runs the problem's reference, or if it
// was ended from outside, the pools decide who is to blame. Some requests are not tried again here:
// one whose compiler missed its deadline, because minutes are lost already, and variants that
// compile together, because the pool tries each of them again by itself. If a compiler was killed,
// found no memory, or got too little processor time, the pool tries again, with no other compiler
// running at the same time (compile_pool.h). All deadlines use the monotonic clock. One thread.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/status.h"
#include "system/cores.h"
#include "system/wait_set.h"
#include "worker/child_process.h"
#include "worker/protocol.h"

namespace mgtune {

// VariantDeadline: how long a measure worker may work on one variant before we assume that it
// hangs. Until one variant of the problem has been measured, this is the caller's limit. After that
// it is 20 times as long as that variant took (its check and its launches together), so that a
// variant that never ends costs only seconds. It is at least 5 s, because a variant may also be
// slow when the machine is busy with other programs. It is at most the caller's limit. In a
// sweep the first variant of a problem is usually the default. Plain data.
class VariantDeadline {
 public:
  explicit VariantDeadline(std::chrono::milliseconds limit) : limit_(limit) {}

  // The caller's limit. It holds for everything except the check and the measurement of one
  // variant.
  std::chrono::milliseconds limit() const { return limit_; }

  std::chrono::milliseconds of(const WorkRequest& request) const;
  void learn(const WorkRequest& request, const WorkReply& reply,
             std::chrono::milliseconds took_now);

  // For messages: the reason for the limit that of() returns: "; the first variant of the problem
  // was done in 240ms". "" if it is the caller's limit.
  std::string basis(const WorkRequest& request) const;

 private:
  // How long the first variant of the request's problem took; nullopt if none was measured.
  std::optional<std::chrono::milliseconds> took(const WorkRequest& request) const;

  std::chrono::milliseconds limit_;
  // The entries of the last problems, because a sweep alternates between two.
  struct Known {
    NamedProblem problem;
    std::chrono::milliseconds took;
  };
  std::deque<Known> known_;
};

class WorkerProcess {
 public:
  // `command` starts a worker, e.g. {"/usr/bin/mgtune", "worker", "measure", "cpu", "emulation"};
  // no child is started before the first request. `deadline` is for each step: from the hand-over
  // (a child's start included) to `begin`, and from there to `done`. It is shorter for a variant if
  // another variant of its problem was measured before (VariantDeadline). `cores` are the cores
  // that the children may use; empty: the same as this process.
  WorkerProcess(std::vector<std::string> command, std::chrono::milliseconds deadline,
                Cores cores = {});

  bool is_idle() const { return requests() == 0; }
  bool has_room() const { return requests() < kMostRequests; }  // for one more request

  // Which of several workers may get a request.
  enum class Place : std::uint8_t { any, not_first };

  struct Task {
    WorkRequest request;
    bool is_retry = false;                   // another worker has already failed at it
    std::chrono::milliseconds extra_time{};  // beyond the deadline: a final needs it
    bool is_alone = false;                   // nothing else of the sweep may run meanwhile
    Place place = Place::any;
  };
  void submit(Task task);  // when has_room()

  // Starts a child if there is none, so that it is ready when its first request comes. If it cannot
  // be started, the first request says so.
  void start();

  // The request and its reply: `done`, or `failed` if the failure says nothing about the variant
  // (end_of_sweep() makes a Status of it).
  struct Finished {
    WorkRequest request;
    WorkReply reply;
    // The phase in which a signal from outside ended the worker, if one did.
    std::optional<WorkReply::Phase> killed_in = {};
    bool is_starved = false;  // a compiler missed its deadline with too little processor time
  };

  // nullopt while the worker is busy. Once poll() has returned a reply, the worker is idle or has
  // its next requests. The result is the status `environment` if no child process begins to work.
  // Then the request was not started, and return_unstarted() returns it for another worker.
  Result<std::optional<Finished>> poll();
  Task return_unstarted() { return std::move(unstarted_); }

  // Call it after poll() has returned something. It gives up the requests that would come next and
  // returns them in their order, for other workers.
  std::vector<Task> return_next();

  // Adds what poll() waits for; adds nothing if the worker is idle.
  void join(WaitSet& waiting) const;

  // Only if the worker is idle: submits the request and waits for the reply. The variant is done,
  // crashed (the message has the worker's standard error) or timed out. A Status ends the sweep:
  // invalid_argument for a reference that crashed or hung, a failure of the machine (tried twice),
  // environment if no worker can be started any more. A variant that was counted and is ok has
  // counters.
  Result<WorkReply> run(WorkRequest request);

  // Only if the worker is idle: ends the child. The next request gets a new child.
  void replace() { end_child(); }

  // Tells the child to exit. After this call, the object may only be destroyed.
  void dismiss();

  bool has_child() const { return child_.has_value(); }  // it has been started
  std::int64_t restarts() const { return restarts_; }    // child processes after the first

 private:
  using Clock = std::chrono::steady_clock;

  struct Work {
    Task task;
    int failed_starts = 0;                // child processes that ended before they sent `begin`
    std::optional<WorkReply> begun = {};  // the last `begin` of the current child
    Clock::time_point begun_at = {};
    std::chrono::milliseconds used_before{};  // processor time, when a compiler began
    std::chrono::milliseconds allowed{};      // for the current step
    Clock::time_point deadline = Clock::time_point::max();
  };
  struct Next {
    Task task;
    bool is_sent = false;     // to the current child
    std::string errors = {};  // written by the child since then, before `work_` began
  };
  using Poll = Result<std::optional<Finished>>;

  std::size_t requests() const { return next_.size() + (work_ ? 1 : 0); }
  bool has_sent_next() const;
  Status send_request();
  void send_next();
  void begin_next();
  void end_child();
  void wait_for_begin();
  void set_deadline(std::chrono::milliseconds time);
  Poll receive(WorkReply reply);
  Poll handle_loss(const Status& reason);
  Poll finish_or_retry(Finished finished, bool retry);
  bool is_starved_compiler() const;
  Poll fail_unstarted(Status why);

  std::vector<std::string> command_;
  Cores cores_;
  VariantDeadline deadline_;
  std::optional<ChildProcess> child_;
  std::optional<Work> work_;
  std::deque<Next> next_;       // the requests that were sent come first
  std::string earlier_errors_;  // written by the child since `work_` may have begun
  Task unstarted_;
  bool started_ = false;
  std::int64_t restarts_ = 0;
};

}  // namespace mgtune

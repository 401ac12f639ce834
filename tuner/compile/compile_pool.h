// CompilePool: compile workers that run beside the measure workers and share one queue of requests.
// Builds go into the build cache, where the measure workers find them; the pool reports the build
// of each variant.
//
// Variants of one problem that compile fast are given to a worker as a group, so that it compiles
// their kernels as one program (CompileRequest::others). The worker is asked for one variant of the
// group after the other: with the first it compiles all, and the builds of the others are in the
// cache then. If the first request ends in a way that any variant of the group may have caused
// (a crash, a timeout, a failure of the machine), nothing is concluded from it: every variant of
// the group is compiled again by itself.
//
// One thread drives it. A variant whose worker crashes is tried once more and is then
// compile_failed. A compiler that is late is `timeout`. But if it was late because it got too
// little time from the processors (it was stopped, or the machine was busy), it is tried once more,
// with no other compiler beside it.
//
// A compiler that was killed, or that found no memory, is tried again with no other compiler beside
// it. If it fails alone too, we suspect the variant: as soon as another variant compiles, the
// suspect is recorded as compile_failed, because it needs more memory than the machine has. If
// nothing compiles, or after eight suspects in a row, the machine is to blame, and the pool ends
// with that failure, as it does if the disk is full.
//
// A failure is returned only after its worker has compiled a source that is known to be good (the
// probe). One probe clears the machine of all failures that its worker reported before. If the
// probe fails, these variants are compiled again in a new worker, with no other compiler beside it:
// the worker's temporary folder may be gone. If the new worker fails at the probe too, the CUDA
// headers may be gone, for example: the pool ends with `environment`.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compile/group_size.h"
#include "core/status.h"
#include "system/wait_set.h"
#include "worker/protocol.h"
#include "worker/worker_process.h"

namespace mgtune {

class CompilePool {
 public:
  // `command` starts a compile worker, e.g. {"/usr/bin/mgtune", "worker", "compile", TARGET}.
  // `deadline` is for each of its steps: to begin (its start included), and from there to be done.
  // As many processes as `cores` has run on these cores alone, and the others where they like: see
  // WorkerCores::compile. A group has at most `most_together` variants; with 1 there are no groups.
  CompilePool(const std::vector<std::string>& command, std::size_t processes,
              std::chrono::milliseconds deadline, const Cores& cores = {},
              std::size_t most_together = 1);

  CompilePool(CompilePool&&) = default;
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;
  ~CompilePool();

  // A free worker begins at once; otherwise the request waits for one. `kernels` name what the
  // request compiles that other requests may compile too. While one worker compiles a kernel for
  // the first time, requests that need the same kernel wait, and others go before them: workers do
  // not see what another one is about to put into the build cache.
  //
  // Requests with the same text in `group` may be given to a worker as a group. One without a text
  // is compiled by itself, and its compile time does not help to choose the size of groups: a
  // search that learns from results wants each of them as soon as possible.
  void submit(WorkRequest request, std::vector<std::string> kernels = {},
              std::optional<std::string> group = "");

  // How many variants of this operator a worker would get at a time now if many were waiting.
  std::size_t group_size(const std::string& op) const { return group_size_.wanted(op); }

  // The reply to a request that is finished, in the order in which they finish; nullopt if there is
  // none now. A failure ends the sweep: a worker has reported two times that the machine failed, or
  // no worker can be started any more. The reply of a suspect has no build, and its failure is
  // `environment`.
  Result<std::optional<WorkReply>> poll();

  // Adds what poll() waits for; nothing if nothing is pending.
  void join(WaitSet& waiting) const;

  std::size_t pending() const;  // submitted and not yet returned by poll()

  // Those of the pending ones that have failed and wait for a probe. There are never many.
  std::size_t unproven() const;

  // While it is paused, no request is started, also of a group whose first one has ended.
  // is_quiet() says that none runs.
  void pause(bool paused);
  bool is_quiet() const { return running() == 0; }

  // The caller has older builds of the same operators: this machine can compile them.
  void others_compile() { compiles_ = true; }

  // Forgets those of these requests that no worker has started. Returns the others of them. A
  // worker may compile the kernels of a forgotten one all the same, if it is at its group.
  std::set<std::int64_t> drop_waiting(const std::set<std::int64_t>& requests);

  // How long the processes have been at work so far, all of them together.
  std::chrono::duration<double> busy_time() const;
  std::size_t size() const { return slots_.size(); }

 private:
  struct Work {
    WorkRequest request;
    bool alone = false;      // no other compiler may run beside it
    std::string doubt = "";  // why a probe failed after this request had failed
    std::vector<std::string> kernels = {};
    std::optional<std::string> group = {};  // nullopt: it is compiled by itself
  };
  // A variant that failed in this slot, which the machine may have caused.
  struct Failure {
    Work work;
    WorkReply reply;
    std::int64_t restarts = 0;  // of the slot's worker until then
  };
  static bool is_alone(const Failure& failure) { return failure.work.alone; }
  struct Slot {
    WorkerProcess worker;
    Work work = {};              // what it works on, without the request
    std::deque<Work> next = {};  // the others of its group
    // What each variant of the group took, once the first has ended.
    std::optional<double> share = {};
    std::vector<Failure> unproven = {};
    bool probes = false;       // its worker is at a probe; then `work.alone` is that of the probe
    std::int64_t request = 0;  // its id
    std::chrono::steady_clock::time_point since = {};  // it is at work
  };

  using Kernels = std::set<std::string_view>;  // of the requests of slots

  void feed();
  bool runs_alone() const;
  static bool may_join(const Work& work, const Work& first);
  void take_others(Slot& slot, const Kernels& at_work);
  void disband(WorkRequest first, Slot& slot);
  void share_seconds(const WorkRequest& request, WorkReply& reply, Slot& slot);
  bool must_probe(const Slot& slot) const;
  // Those that a worker compiles, or will as soon as it is done, for the first time.
  Kernels kernels_at_work() const;
  static bool must_wait(const Work& work, const Kernels& at_work);
  // The reply for a finished request; nullopt while it is still open.
  Result<std::optional<WorkReply>> receive(WorkerProcess::Finished finished, Slot& slot);
  Status suspect(WorkerProcess::Finished failed, Slot& slot);
  void charge_suspects(Slot& slot);  // another variant compiles: the suspects are probably to blame
  Status judge(const WorkReply& probe, Slot& slot);
  bool has_only_suspects() const;
  std::size_t running() const;
  std::size_t next_ones() const;  // of all slots
  static void begin(Slot& slot, WorkRequest request);

  std::vector<Slot> slots_;
  std::deque<Work> waiting_;
  // They failed twice because of the machine, the second time with no other compiler beside them.
  // Empty once anything has compiled.
  std::vector<WorkerProcess::Finished> suspects_;
  std::deque<WorkReply> finished_;  // poll() will return them
  std::set<std::string> compiled_;  // kernels
  GroupSize group_size_;
  bool paused_ = false;
  bool compiles_ = false;  // a compiler has run to its end, with or without errors in the source
  int suspects_in_a_row_ = 0;
  std::chrono::steady_clock::duration busy_{};  // of the requests that are over
};

}  // namespace mgtune

// CompilePool: compile workers that run at the same time as the measure workers and share one queue
// of requests. Builds go into the build cache, where the measure workers find them; the pool
// reports the build of each variant.
//
// Variants of one problem that compile fast are given to a worker as a group, so that it compiles
// their kernels as one program (CompileRequest::others). The worker is asked for one variant of the
// group after the other: with the first it compiles all, and the builds of the others are in the
// cache then. If the first request ends in a way that any variant of the group may have caused (a
// crash, a timeout, a failure of the machine), nothing is recorded: every variant of the group is
// compiled again by itself.
//
// One thread drives it. A variant whose worker crashes is tried once more; if the worker crashes
// again, the variant is compile_failed. A variant whose compiler misses the deadline is `timeout`.
// But if the compiler got too little processor time (it was stopped, or the machine was busy), the
// variant is tried once more, with no other compiler running at the same time.
//
// If a compiler was killed or found no memory, its variant is tried again with no other compiler
// running at the same time. If it fails alone too, we suspect the variant: as soon as another
// variant compiles, the suspect is recorded as compile_failed, because it needs more memory than
// the machine has. If nothing compiles, or after eight suspects in a row, the machine is to blame,
// and the pool ends with that failure. It also ends if the disk is full.
//
// A variant's failure is returned only after the same worker has compiled a source that is known to
// be good (the probe). One probe that succeeds shows that the machine did not cause any of the
// failures that this worker reported before. If the probe fails, for example because the worker's
// temporary folder is gone, these variants are compiled again in a new worker, with no other
// compiler running at the same time. If the probe fails in the new worker too, for example because
// the CUDA headers are gone, the pool ends with `environment`.

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
  // `deadline` holds for each of its two steps: from the request to `begin` (with the start of the
  // process), and from `begin` to `done`. If `cores` has n cores, n processes run on these cores
  // only, and the others run on any core: see WorkerCores::compile. A group has at most
  // `most_together` variants; with 1 there are no groups.
  CompilePool(const std::vector<std::string>& command, std::size_t processes,
              std::chrono::milliseconds deadline, const Cores& cores = {},
              std::size_t most_together = 1);

  CompilePool(CompilePool&&) = default;
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;
  ~CompilePool();

  // A free worker begins at once; otherwise the request waits for one. `kernels` names the kernels
  // of this request that other requests may need too. While one worker compiles a kernel for the
  // first time, requests that need the same kernel wait and others overtake them, because a worker
  // does not see what another worker is about to put into the build cache.
  //
  // Requests with the same text in `group` may be given to a worker as a group. With nullopt, the
  // request is compiled by itself, and its compile time does not influence the size of groups: a
  // search that learns from results wants each result as soon as possible.
  void submit(WorkRequest request, std::vector<std::string> kernels = {},
              std::optional<std::string> group = "");

  // How many variants of this operator a worker would now get as one group if many were waiting.
  std::size_t group_size(const std::string& op) const { return group_size_.wanted(op); }

  // Returns the reply to a finished request; replies come in the order in which requests finish.
  // nullopt if there is none now. A failure ends the sweep: a worker has reported twice that the
  // machine failed, or no worker can be started any more. The reply of a suspect has no build, and
  // its failure is `environment`.
  Result<std::optional<WorkReply>> poll();

  // Adds to `waiting` what poll() waits for; adds nothing if no request is pending.
  void join(WaitSet& waiting) const;

  std::size_t pending() const;  // submitted and not yet returned by poll()

  // How many of the pending requests have failed and wait for a probe. There are never many.
  std::size_t unproven() const;

  // While the pool is paused, it starts no request, not even the next one of a group that has
  // begun. is_quiet() says whether no request runs.
  void pause(bool paused);
  bool is_quiet() const { return running() == 0; }

  // Tells the pool that the caller has older builds of the same operators, so this machine can
  // compile them.
  void others_compile() { compiles_ = true; }

  // Drops the given requests that no worker has started, and returns the others. A worker that is
  // compiling a group may still compile the kernels of a dropped request of this group.
  std::set<std::int64_t> drop_waiting(const std::set<std::int64_t>& requests);

  // How long the processes have worked so far, added up over all of them.
  std::chrono::duration<double> busy_time() const;
  std::size_t size() const { return slots_.size(); }

 private:
  struct Work {
    WorkRequest request;
    bool alone = false;      // no other compiler may run at the same time
    std::string doubt = "";  // why the probe failed after this request had failed
    std::vector<std::string> kernels = {};
    std::optional<std::string> group = {};  // nullopt: it is compiled by itself
  };
  // A variant that failed in this slot. The machine may have caused the failure.
  struct Failure {
    Work work;
    WorkReply reply;
    std::int64_t restarts = 0;  // of the slot's worker until then
  };
  static bool is_alone(const Failure& failure) { return failure.work.alone; }
  struct Slot {
    WorkerProcess worker;
    Work work = {};              // what the worker works on, without the request
    std::deque<Work> next = {};  // the others of its group
    // The compile time of each variant of the group, known once the first one has ended.
    std::optional<double> share = {};
    std::vector<Failure> unproven = {};
    bool probes = false;       // its worker compiles the probe, and `work.alone` is the probe's
    std::int64_t request = 0;  // its id
    std::chrono::steady_clock::time_point since = {};  // when it began to work
  };

  using Kernels = std::set<std::string_view>;  // of the requests of slots

  void feed();
  bool runs_alone() const;
  static bool may_join(const Work& work, const Work& first);
  void take_others(Slot& slot, const Kernels& at_work);
  void disband(WorkRequest first, Slot& slot);
  void share_seconds(const WorkRequest& request, WorkReply& reply, Slot& slot);
  bool must_probe(const Slot& slot) const;
  // The kernels that workers compile for the first time now, or will compile next.
  Kernels kernels_at_work() const;
  static bool must_wait(const Work& work, const Kernels& at_work);
  // The reply for a finished request; nullopt while it is still open.
  Result<std::optional<WorkReply>> receive(WorkerProcess::Finished finished, Slot& slot);
  Status suspect(WorkerProcess::Finished failed, Slot& slot);
  void charge_suspects(Slot& slot);  // another variant compiles: the suspects are to blame
  Status judge(const WorkReply& probe, Slot& slot);
  bool has_only_suspects() const;
  std::size_t running() const;
  std::size_t next_ones() const;  // of all slots
  static void begin(Slot& slot, WorkRequest request);

  std::vector<Slot> slots_;
  std::deque<Work> waiting_;
  // Variants that failed twice because of the machine, the second time with no other compiler
  // running. Empty once anything has compiled.
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

// CompilePool: compile workers that run beside the measure workers and share one queue of requests.
// Builds go into the build cache, where the measure workers find them; the pool reports the build
// of each variant.
//
// One thread drives it. A variant whose worker crashes is tried once more and is then
// compile_failed; one whose worker is late is `timeout` at once (worker_process.h).
//
// A compiler that was killed, or that found no memory, is tried again with no other compiler beside
// it. If it fails alone too, we suspect the variant: as soon as another variant compiles, the
// suspect is recorded as compile_failed, because it needs more memory than the machine has. If
// nothing compiles, or after eight suspects in a row, the machine is to blame, and the pool ends
// with that failure, as it does if the disk is full.

#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "system/wait_set.h"
#include "worker/protocol.h"
#include "worker/worker_process.h"

namespace mgtune {

class CompilePool {
 public:
  // `command` starts a compile worker, e.g. {"/usr/bin/mgtune", "worker", "compile", TARGET}.
  // `deadline` is for each of its steps: to begin (its start included), and from there to be done.
  CompilePool(const std::vector<std::string>& command, std::size_t processes,
              std::chrono::milliseconds deadline);

  CompilePool(CompilePool&&) = default;
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;
  ~CompilePool();

  // A free worker begins at once; otherwise the request waits for one.
  void submit(WorkRequest request);

  // The reply to a request that is finished, in the order in which they finish; nullopt if there is
  // none now. A failure ends the sweep: a worker has reported two times that the machine failed, or
  // no worker can be started any more. The reply of a suspect has no build, and its failure is
  // `environment`.
  Result<std::optional<WorkReply>> poll();

  // Adds what poll() waits for; nothing if nothing is pending.
  void join(WaitSet& waiting) const;

  std::size_t pending() const;  // submitted and not yet returned by poll()

  // The caller has older builds of the same operators: this machine can compile them.
  void others_compile() { compiles_ = true; }

  void drop_waiting();  // forgets the requests that no worker has started

 private:
  struct Work {
    WorkRequest request;
    bool alone = false;  // no other compiler may run beside it
  };
  struct Slot {
    WorkerProcess worker;
    bool alone = false;  // its request must run alone
  };

  void feed();
  Result<std::optional<WorkReply>> receive(WorkerProcess::Finished finished, bool alone);
  Status suspect(WorkerProcess::Finished failed);
  void charge_suspects();  // another variant compiles, so the suspects are to blame
  std::size_t running() const;

  std::vector<Slot> slots_;
  std::deque<Work> waiting_;
  // They failed twice because of the machine, the second time with no other compiler beside them.
  // Empty once anything has compiled.
  std::vector<WorkerProcess::Finished> suspects_;
  std::deque<WorkReply> finished_;  // poll() will return them
  bool compiles_ = false;  // a compiler has run to its end, with or without errors in the source
  int suspects_in_a_row_ = 0;
};

}  // namespace mgtune

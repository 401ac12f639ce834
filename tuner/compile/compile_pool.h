// CompilePool: compile workers beside the measuring one. Builds go into the build cache, where
// the measure worker finds them; the pool reports the build of each variant.
//
// One thread drives it. What goes wrong is tried once more in a new worker, except a compiler that
// is not done in time: that variant is `timeout` at once, for minutes are lost already. A compiler
// that crashes again on a variant's source makes it compile_failed. What the machine does to a
// build (a full disk, a compiler that was killed) is nothing of the variant's and ends the pool.

#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "worker/child_process.h"
#include "worker/protocol.h"

namespace mgtune {

class CompilePool {
 public:
  // `command` starts a compile worker, e.g. {"/usr/bin/mgtune", "worker", "compile"}. `deadline` is
  // for each of its steps: to begin (its start included), and from there to be done.
  CompilePool(std::vector<std::string> command, std::size_t processes,
              std::chrono::milliseconds deadline);

  void submit(WorkRequest request);

  // The next finished one, in order of finishing; waits. nullopt when nothing is submitted or
  // running. A Status is what ends the sweep: what a worker said of the machine twice, or that no
  // worker can be started any more.
  Result<std::optional<WorkReply>> next();

  std::size_t pending() const;  // submitted and not yet returned by next()

 private:
  struct Work {
    WorkRequest request;
    bool is_retry = false;
  };
  struct Slot {
    std::optional<ChildProcess> child;
    std::optional<Work> running;
    bool begun = false;
    std::chrono::steady_clock::time_point deadline;
  };

  Status feed();
  Status give(Slot& slot, Work work);
  void wait() const;
  Result<std::optional<WorkReply>> collect(Slot& slot);
  Result<std::optional<WorkReply>> lose(Slot& slot, const Status& reason);
  Result<std::optional<WorkReply>> settle(Work work, WorkReply reply, bool again);

  std::vector<std::string> command_;
  std::chrono::milliseconds deadline_;
  std::vector<Slot> slots_;
  std::deque<Work> waiting_;
  int failed_starts_ = 0;  // workers that went before they began, since the last that did not
};

}  // namespace mgtune

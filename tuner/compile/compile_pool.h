// CompilePool: compile workers beside the measuring one. Builds go into the build cache, where
// the measure worker finds them; the pool reports the build of each variant.
//
// One thread drives it. A compiler that crashes or hangs costs one variant, which is
// compile_failed; its worker is started again when there is work for it.

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
  // running. A Status only when no worker can be started any more.
  Result<std::optional<WorkReply>> next();

  std::size_t pending() const;  // submitted and not yet returned by next()

 private:
  struct Slot {
    std::optional<ChildProcess> child;
    std::optional<WorkRequest> running;
    bool begun = false;
    std::chrono::steady_clock::time_point deadline;
  };

  Status feed();
  Status give(Slot& slot, WorkRequest request);
  void wait() const;
  Result<std::optional<WorkReply>> collect(Slot& slot);
  Result<std::optional<WorkReply>> lose(Slot& slot, const Status& reason);

  std::vector<std::string> command_;
  std::chrono::milliseconds deadline_;
  std::vector<Slot> slots_;
  std::deque<WorkRequest> waiting_;
  int failed_starts_ = 0;  // workers that went before they began, since the last that did not
};

}  // namespace mgtune

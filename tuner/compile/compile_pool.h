// CompilePool: compile workers beside the measuring one, on one queue of requests. Builds go into
// the build cache, where the measure worker finds them; the pool reports the build of each variant.
//
// One thread drives it. What becomes of a variant whose worker crashes or is late is
// worker_process.h's: tried once more, then compile_failed; `timeout` at once. What the machine
// does to a build (a full disk, a compiler that was killed) is nothing of the variant's and ends
// the pool.

#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "worker/protocol.h"
#include "worker/wait_set.h"
#include "worker/worker_process.h"

namespace mgtune {

class CompilePool {
 public:
  // `command` starts a compile worker, e.g. {"/usr/bin/mgtune", "worker", "compile"}. `deadline` is
  // for each of its steps: to begin (its start included), and from there to be done.
  CompilePool(const std::vector<std::string>& command, std::size_t processes,
              std::chrono::milliseconds deadline);

  // A free worker begins at once; else the request waits for one.
  void submit(WorkRequest request);

  // A finished one, in order of finishing; nullopt when none is just now. A Status is what ends the
  // sweep: what a worker said of the machine twice, or that no worker can be started any more.
  Result<std::optional<WorkReply>> poll();

  // Adds when poll() has something new; nothing when nothing is pending.
  void join(WaitSet& waiting) const;

  // poll() until there is one; nullopt when nothing is pending.
  Result<std::optional<WorkReply>> next();

  std::size_t pending() const;  // submitted and not yet returned by poll() or next()

  void drop_waiting();  // forgets the requests that no worker has yet

 private:
  void feed();

  std::vector<WorkerProcess> workers_;
  std::deque<WorkRequest> waiting_;
};

}  // namespace mgtune

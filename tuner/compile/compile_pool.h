// CompilePool: compile workers beside the measuring ones, on one queue of requests. Builds go into
// the build cache, where the measure worker finds them; the pool reports the build of each variant.
//
// One thread drives it. What becomes of a variant whose worker crashes or is late is
// worker_process.h's: tried once more, then compile_failed; `timeout` at once.
//
// A compiler that was killed, or that found no memory, is tried again with no other beside it. When
// that ends in the same way, the variant is a suspect: compile_failed once another one compiles,
// because it asks for more than the machine has. While nothing compiles, or after eight suspects in
// a row, it is the machine, and that ends the pool, as a full disk does.

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
  // `command` starts a compile worker, e.g. {"/usr/bin/mgtune", "worker", "compile", TARGET}.
  // `deadline` is for each of its steps: to begin (its start included), and from there to be done.
  CompilePool(const std::vector<std::string>& command, std::size_t processes,
              std::chrono::milliseconds deadline);

  CompilePool(CompilePool&&) = default;
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;
  ~CompilePool();

  // A free worker begins at once; else the request waits for one.
  void submit(WorkRequest request);

  // A finished one, in order of finishing; nullopt when none is just now. A Status is what ends the
  // sweep: what a worker said of the machine twice, or that no worker can be started any more. A
  // suspect's reply has no build and the failure `environment`.
  Result<std::optional<WorkReply>> poll();

  // Adds when poll() has something new; nothing when nothing is pending.
  void join(WaitSet& waiting) const;

  // poll() until there is one; nullopt when nothing is pending.
  Result<std::optional<WorkReply>> next();

  std::size_t pending() const;  // submitted and not yet returned by poll() or next()

  // The caller has builds of the same operators from before: they compile on this machine.
  void others_compile() { compiles_ = true; }

  void drop_waiting();  // forgets the requests that no worker has yet

 private:
  struct Work {
    WorkRequest request;
    bool alone = false;  // no other compiler may run beside it
  };
  // Failed twice because of the machine, the second time alone.
  struct Suspect {
    WorkRequest request;
    WorkReply failed;
  };
  struct Slot {
    WorkerProcess worker;
    bool alone = false;  // what it works on
  };

  void feed();
  Result<std::optional<WorkReply>> receive(WorkerProcess::Finished finished, bool alone);
  Status suspect(WorkRequest request, WorkReply failed);
  void charge_suspects();  // they are to blame: something else compiles
  std::size_t running() const;

  std::vector<Slot> slots_;
  std::deque<Work> waiting_;
  std::vector<Suspect> suspects_;   // while nothing has compiled
  std::deque<WorkReply> finished_;  // to be returned by poll()
  bool compiles_ = false;  // a compiler came to its end here, whatever it said of the source
  int suspects_in_a_row_ = 0;
};

}  // namespace mgtune

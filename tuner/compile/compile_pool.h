// CompilePool: compile workers beside the measuring one. Builds go into the build cache, where
// the measure worker finds them; the pool reports the build of each variant.
//
// One thread drives it. What goes wrong is tried once more in a new worker, except a compiler that
// is not done in time: that variant is `timeout` at once, for minutes are lost already. A compiler
// that crashes again on a variant's source makes it compile_failed.
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
  // worker can be started any more. A suspect's reply has no build and the failure `environment`.
  Result<std::optional<WorkReply>> next();

  std::size_t pending() const;  // submitted and not yet returned by next()

 private:
  struct Work {
    WorkRequest request;
    bool is_retry = false;
    bool alone = false;  // no other compiler may run beside it
  };
  // Failed twice because of the machine, the second time alone.
  struct Suspect {
    WorkRequest request;
    WorkReply failed;
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
  Status suspect(const WorkRequest& request, WorkReply failed);
  void charge_suspects();  // they are to blame: something else compiles
  std::size_t running() const;

  std::vector<std::string> command_;
  std::chrono::milliseconds deadline_;
  std::vector<Slot> slots_;
  std::deque<Work> waiting_;
  std::vector<Suspect> suspects_;   // while nothing has compiled
  std::deque<WorkReply> finished_;  // to be returned by next()
  int failed_starts_ = 0;  // workers that went before they began, since the last that did not
  bool compiles_ = false;  // a compiler came to its end here, whatever it said of the source
  int suspects_in_a_row_ = 0;
};

}  // namespace mgtune

// MeasureProcess: the parent's side of one measure worker. A worker that crashes or passes its
// deadline is killed; the variant it had begun is a suspect, and is tried once more alone in a new
// worker. What happens then is its outcome, unless the worker had announced that it runs the
// problem's reference, or was ended from outside: no variant is to blame for that. One thread.

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "worker/child_process.h"
#include "worker/protocol.h"
#include "worker/variant_deadline.h"

namespace mgtune {

class MeasureProcess {
 public:
  // `command` starts a worker, e.g. {"/usr/bin/mgtune", "worker", "measure", "cpu", "emulation"}.
  // `deadline` is for each of its steps: to begin (its start included), and from there to be done;
  // for a variant to be done it is less, see variant_deadline.h.
  MeasureProcess(std::vector<std::string> command, std::chrono::milliseconds deadline);

  // Blocks until the variant is done, crashed (its standard error in the message) or timed out. A
  // Status is what ends the sweep: invalid_argument for a reference that crashed or hung, what a
  // worker said of the machine (tried twice), environment when no worker can be started any more.
  // `more` is for what takes longer than a variant: a final's launches.
  Result<WorkReply> measure(const WorkRequest& request, std::chrono::milliseconds more = {});

  std::int64_t restarts() const { return restarts_; }  // workers started after the first

 private:
  // What one worker made of a request.
  struct Attempt {
    std::optional<WorkReply>
        reply;           // done or failed; none: it went before it began, see failed_start_
    bool again = false;  // another worker may make something else of it
  };
  Result<Attempt> attempt(const WorkRequest& request, std::chrono::milliseconds more);
  WorkReply lose(const WorkRequest& request, const WorkReply& begun, const Status& reason,
                 std::chrono::milliseconds deadline);
  Status start();
  std::string end_worker();  // kills and collects it; its crash message

  std::vector<std::string> command_;
  VariantDeadline deadline_;
  std::optional<ChildProcess> child_;
  bool started_ = false;
  std::int64_t restarts_ = 0;
  std::string failed_start_;
};

}  // namespace mgtune

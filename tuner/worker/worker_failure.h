// What a failure on the way to a variant's row means: it is the variant's own, and becomes its
// outcome; or it is the machine's, the family's or ours, says nothing about the variant, and ends
// the sweep. Pure.

#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/status.h"
#include "worker/protocol.h"

namespace mgtune {

// The child's side: turns `reply` into what the parent is to make of the failure: `done` with the
// variant's outcome, or `failed` without any record.
void put_failure(const Status& failure, WorkReply& reply);

// The parent's side. A reply of kind `failed`, made up where the worker could not send one.
WorkReply failed_reply(const WorkRequest& request, const Status& failure);

// A worker that went, was late or talked nonsense after it had begun a request.
struct LostWorker {
  Status reason;      // io when it ended by itself, timeout, else corrupt
  std::string end;    // "exited with 7", and what it said
  bool from_outside;  // ChildProcess::ended_from_outside()
  std::chrono::milliseconds deadline;
  std::string yardstick;  // what the deadline was set by; "" or "; the first variant ..."
};

// The reply that it did not send; `begun` is its last `begin`.
WorkReply lost_reply(const WorkRequest& request, const WorkReply& begun, const LostWorker& lost);

// Whether a new worker can come to another end. Of what a worker says: disk space comes back, and a
// temporary folder that was cleaned away is made again; a GPU's context that died with this variant
// may have been harmed by an earlier one. Counters that a driver refuses are refused again. Memory
// comes back as well, but to a compiler only where no other runs beside it: the pool sees to that.
bool is_worth_a_retry(const WorkRequest& request, const WorkReply& reply);
bool is_worth_a_retry(const WorkRequest& request, const LostWorker& lost);

std::string_view worker_kind(const WorkRequest& request);  // "compile", "measure", "count"

// The status that ends the sweep, naming the variant that was at work where that may help.
Status end_of_sweep(const WorkRequest& request, const WorkReply& failed);

}  // namespace mgtune

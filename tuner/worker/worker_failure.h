// Decides whose fault a failure is. A failure of the variant becomes the variant's outcome. A
// failure of the machine, of the family or of mgtune itself says nothing about the variant and ends
// the sweep. Pure functions.

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/status.h"
#include "store/records.h"
#include "worker/protocol.h"

namespace mgtune {

// The outcome of a variant that failed with this status. nullopt if the failure says nothing about
// the variant: the machine, the family or mgtune itself failed. Such a failure ends the sweep.
std::optional<Outcome> outcome_of(const Status& failure);

// Changes invalid_argument into launch_failed; every other status stays. Loading and launching
// return invalid_argument if an expression of the variant cannot be evaluated, or gives values with
// which no kernel can be launched. If a sweep tries the variant, this is the variant's failure, not
// a wrong argument.
Status launch_failure(Status status);

// For the worker: puts the failure into `reply`: `done` with the variant's outcome, or `failed`
// without any record.
void put_failure(const Status& failure, WorkReply& reply);

// A reply of kind `failed` to the request with this id. The parent makes it if the worker could not
// send one.
WorkReply failed_reply(std::int64_t id, const Status& failure);

// The message of a variant whose worker died, with the useful part of the worker's standard error.
// `end` is ChildProcess::end_description(). From a sanitizer's report the message takes the
// finding, the access, the first frames and the SUMMARY line, and the device's lines about block,
// thread and buffer. From any other output it takes the last lines.
std::string crash_message(const std::string& end, const std::string& error_output);

// A worker that ended, missed its deadline or sent a malformed answer after it had begun a request.
struct LostWorker {
  Status reason;      // io if it ended by itself, timeout, or corrupt for a malformed answer
  std::string end;    // "exited with 7", and what it wrote on standard error
  bool from_outside;  // ChildProcess::ended_from_outside()
  std::chrono::milliseconds deadline;
  std::string deadline_basis;  // VariantDeadline::basis()
};

// The reply that replaces the lost worker's reply; `begun` is the worker's last `begin`.
WorkReply lost_reply(const WorkRequest& request, const WorkReply& begun, const LostWorker& lost);

// Whether a new worker may succeed. Yes for a full disk or a removed temporary folder: both
// problems may be over by then. Yes for a crashed GPU context: an earlier variant may have damaged
// it. No for counters that the driver refuses. No for a compiler without memory: the pool tries
// again with no other compiler running at the same time. No for several variants that compile
// together: the pool tries each of them again by itself. Yes for a timeout that a measure worker
// itself reports: its process may have been stopped meanwhile. No for a probe: a new worker would
// not show what is wrong with the old one.
bool is_worth_a_retry(const WorkRequest& request, const WorkReply& reply);
bool is_worth_a_retry(const WorkRequest& request, const LostWorker& lost);

// Whether a compiler that did not finish in the time `passed` is not to blame, because it got less
// than 3/4 of this time from the processors (`used`). It may have been stopped, the machine may
// have been busy, or a clock may have jumped.
bool is_starved(std::chrono::milliseconds used, std::chrono::milliseconds passed);

std::string_view worker_kind(const WorkRequest& request);  // "compile", "measure", "count"

// The status that ends the sweep. It names the variant that was in progress if this may help.
Status end_of_sweep(const WorkRequest& request, const WorkReply& failed);

}  // namespace mgtune

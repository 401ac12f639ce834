// What a failure on the way to a variant's row means: it is the variant's own, and becomes its
// outcome; or it is the machine's, the family's or ours, says nothing about the variant, and ends
// the sweep. Pure.

#pragma once

#include <string>

#include "core/status.h"
#include "worker/protocol.h"

namespace mgtune {

// The child's side: turns `reply` into what the parent is to make of the failure: `done` with the
// variant's outcome, or `failed` without any record.
void put_failure(const Status& failure, WorkReply& reply);

// The parent's side. A reply of kind `failed`, made up where the worker could not send one.
WorkReply failed_reply(const WorkRequest& request, const Status& failure);

// Whether a `failed` reply can be another one in a new worker: memory and disk space come back, and
// a temporary folder that was cleaned away is made again. Counters that a driver refuses are
// refused again.
bool is_worth_a_retry(const WorkRequest& request, const WorkReply& failed);

// The status that ends the sweep, naming the variant that was at work where that may help.
Status end_of_sweep(const WorkRequest& request, const WorkReply& failed);

}  // namespace mgtune

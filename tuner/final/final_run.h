// One run of a final's entries by the measure worker, and who is to blame where it breaks off. A
// crash in it has no culprit by itself: naming each launch on the wire would cost more than the
// launches take. So each entry runs alone, as long as it would among the others.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "final/pick.h"
#include "store/records.h"
#include "sweep/problem_sweep.h"
#include "worker/protocol.h"

namespace mgtune {

// A variant that crashed, hung or could not be launched in a final and again alone. It passed its
// check and was measured before that, and is fit for nothing all the same.
struct Expelled {
  std::string variant;
  Outcome outcome = Outcome::crashed;
  std::string message;
};

// Samples of each entry, and last those of a second entry of `twice`. The worker gets the time that
// the entries' medians say, besides what it has for one variant. A Status says nothing of them.
Result<WorkReply> run_final(SweepShared& shared, const TunedView& view,
                            std::span<const Contender> entries, std::optional<std::size_t> twice);

// Whether one of the entries broke it off.
bool is_broken_off(const WorkReply& reply);

// Those of the entries that break off a run of their own. None on a request to stop, and none where
// all do: then it is the worker or the GPU.
std::vector<Expelled> find_culprits(SweepShared& shared, const TunedView& view,
                                    std::span<const Contender> entries);

}  // namespace mgtune

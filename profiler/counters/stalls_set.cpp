// The reasons for which a scheduler's warps wait, in warps per issued instruction: 5.2 for a reason
// means that per issued instruction 5.2 warps waited for it. Five to seven passes.

#include "counters/counter_sets.h"

namespace mgtune {
namespace {

constexpr CounterKind kStallsAverage = CounterKind::average;

#define MGTUNE_STALL(reason, meaning)                                          \
  Counter {                                                                    \
    "stall_" #reason, "warps", meaning, kStallsAverage,                        \
        "smsp__average_warps_issue_stalled_" #reason "_per_issue_active.ratio" \
  }

constexpr std::array kStallsCounters = {
    MGTUNE_STALL(long_scoreboard, "waiting for a load from global, local or texture memory"),
    MGTUNE_STALL(short_scoreboard, "waiting for shared memory, a shuffle or a special function"),
    MGTUNE_STALL(wait, "waiting for the fixed latency of the instruction before"),
    MGTUNE_STALL(barrier, "waiting for other warps of the block at a barrier"),
    MGTUNE_STALL(membar, "waiting for a memory fence"),
    MGTUNE_STALL(gmma, "waiting for a wgmma that has not finished"),
    MGTUNE_STALL(math_pipe_throttle, "waiting for a math pipe that is busy"),
    MGTUNE_STALL(mio_throttle,
                 "waiting for room in the queue of shared memory and special functions"),
    MGTUNE_STALL(lg_throttle, "waiting for room in the queue of global and local memory"),
    MGTUNE_STALL(tex_throttle, "waiting for room in the queue of the texture unit"),
    MGTUNE_STALL(drain, "waiting for stores on their way out before the warp ends"),
    MGTUNE_STALL(not_selected, "ready, but another warp was issued"),
    MGTUNE_STALL(selected, "issued"),
    MGTUNE_STALL(no_instruction, "waiting for the instruction cache"),
    MGTUNE_STALL(imc_miss, "waiting for the constant cache"),
    MGTUNE_STALL(branch_resolving, "waiting for a branch's target"),
    MGTUNE_STALL(dispatch_stall, "waiting for the dispatcher"),
    MGTUNE_STALL(misc, "waiting for something else"),
    MGTUNE_STALL(sleeping, "waiting for nanosleep, all threads of the warp"),
};

#undef MGTUNE_STALL

constexpr CounterSet kStallsSet = {"stalls", 2, kStallsCounters};

}  // namespace

const CounterSet& stalls_set() { return kStallsSet; }

}  // namespace mgtune

// The reasons for which a scheduler's warps wait, in warps per issued instruction: 5.2 for a reason
// means that per issued instruction 5.2 warps waited for it. Five to seven passes.

#include "counters/counter_sets.h"

namespace mgtune {
namespace {

constexpr CounterKind kStallsAverage = CounterKind::average;

#define MGTUNE_STALL(reason) \
  { "smsp__average_warps_issue_stalled_" #reason "_per_issue_active.ratio" }

constexpr std::array kStallsCounters = {
    Counter{"stall_long_scoreboard", "warps",
            "waiting for a load from global, local or texture memory", kStallsAverage,
            MGTUNE_STALL(long_scoreboard)},
    Counter{"stall_short_scoreboard", "warps",
            "waiting for shared memory, a shuffle or a special function", kStallsAverage,
            MGTUNE_STALL(short_scoreboard)},
    Counter{"stall_wait", "warps", "waiting for the fixed latency of the instruction before",
            kStallsAverage, MGTUNE_STALL(wait)},
    Counter{"stall_barrier", "warps", "waiting for other warps of the block at a barrier",
            kStallsAverage, MGTUNE_STALL(barrier)},
    Counter{"stall_membar", "warps", "waiting for a memory fence", kStallsAverage,
            MGTUNE_STALL(membar)},
    Counter{"stall_gmma", "warps", "waiting for a wgmma that has not finished", kStallsAverage,
            MGTUNE_STALL(gmma)},
    Counter{"stall_math_pipe_throttle", "warps", "waiting for a math pipe that is busy",
            kStallsAverage, MGTUNE_STALL(math_pipe_throttle)},
    Counter{"stall_mio_throttle", "warps",
            "waiting for room in the queue of shared memory and special functions", kStallsAverage,
            MGTUNE_STALL(mio_throttle)},
    Counter{"stall_lg_throttle", "warps",
            "waiting for room in the queue of global and local memory", kStallsAverage,
            MGTUNE_STALL(lg_throttle)},
    Counter{"stall_tex_throttle", "warps", "waiting for room in the queue of the texture unit",
            kStallsAverage, MGTUNE_STALL(tex_throttle)},
    Counter{"stall_drain", "warps", "waiting for stores on their way out before the warp ends",
            kStallsAverage, MGTUNE_STALL(drain)},
    Counter{"stall_not_selected", "warps", "ready, but another warp was issued", kStallsAverage,
            MGTUNE_STALL(not_selected)},
    Counter{"stall_selected", "warps", "issued", kStallsAverage, MGTUNE_STALL(selected)},
    Counter{"stall_no_instruction", "warps", "waiting for the instruction cache", kStallsAverage,
            MGTUNE_STALL(no_instruction)},
    Counter{"stall_imc_miss", "warps", "waiting for the constant cache", kStallsAverage,
            MGTUNE_STALL(imc_miss)},
    Counter{"stall_branch_resolving", "warps", "waiting for a branch's target", kStallsAverage,
            MGTUNE_STALL(branch_resolving)},
    Counter{"stall_dispatch_stall", "warps", "waiting for the dispatcher", kStallsAverage,
            MGTUNE_STALL(dispatch_stall)},
    Counter{"stall_misc", "warps", "waiting for something else", kStallsAverage,
            MGTUNE_STALL(misc)},
    Counter{"stall_sleeping", "warps", "waiting for nanosleep, all threads of the warp",
            kStallsAverage, MGTUNE_STALL(sleeping)},
};

#undef MGTUNE_STALL

constexpr CounterSet kStallsSet = {"stalls", 2, kStallsCounters};

}  // namespace

const CounterSet& stalls_set() { return kStallsSet; }

}  // namespace mgtune

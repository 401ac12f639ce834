#include "counters/counter_sets.h"

#include <array>

namespace mgtune {
namespace {

using enum CounterKind;

constexpr double kSectorBytes = 32;
constexpr double kMegahertz = 1e-6;

// The counters that say the most about a kernel in two passes, on every chip from Turing to
// Blackwell. One more counter of the L1 cache would make it three passes, because its unit counts
// only a few at a time. The sum of all shared wavefronts would be one too many; those of loads and
// of stores are not.
constexpr std::array kEssentials = {
    Counter{"elapsed_ns", "ns", "time of the counted range, gaps between launches included",
            per_launch, "gpu__time_duration.sum"},
    Counter{"sm_clock_mhz", "MHz", "clock of the SMs meanwhile", average,
            "sm__cycles_elapsed.avg.per_second", "", kMegahertz},
    Counter{"dram_clock_mhz", "MHz", "clock of the device memory meanwhile", average,
            "dram__cycles_elapsed.avg.per_second", "", kMegahertz},
    Counter{"dram_read_bytes", "bytes", "read from device memory", per_launch,
            "dram__bytes_read.sum", "fbpa__dram_read_bytes.sum"},
    Counter{"dram_write_bytes", "bytes", "written to device memory", per_launch,
            "dram__bytes_write.sum", "fbpa__dram_write_bytes.sum"},
    Counter{"l2_bytes", "bytes", "through the L2 cache, from and to everything", per_launch,
            "lts__t_bytes.sum"},
    Counter{"l2_bytes_from_sm", "bytes", "of these, those that the SMs' L1 caches asked for",
            per_launch, "lts__t_sectors_srcunit_tex.sum", "", kSectorBytes},
    Counter{"l2_hit_percent", "%", "32-byte sectors that were in the L2 cache", average,
            "lts__t_sector_hit_rate.pct"},
    Counter{"l1_hit_percent", "%", "32-byte sectors that were in the L1 cache", average,
            "l1tex__t_sector_hit_rate.pct"},
    Counter{"occupancy_percent", "%", "warps resident, of those that an SM can hold", average,
            "sm__warps_active.avg.pct_of_peak_sustained_active"},
    Counter{"issue_active_percent", "%", "cycles in which a scheduler issued an instruction",
            average, "smsp__issue_active.avg.pct_of_peak_sustained_active"},
    Counter{"instructions", "", "instructions executed, one for each warp", per_launch,
            "smsp__inst_executed.sum"},
    Counter{"tensor_active_percent", "%", "cycles in which the tensor pipe was busy", average,
            "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"},
    Counter{"wgmma_instructions", "", "wgmma instructions, one for each warp", per_launch,
            "sm__inst_executed_pipe_tensor_op_gmma.sum"},
    Counter{"local_loads", "", "loads from local memory: spilled registers, indexed arrays",
            per_launch, "smsp__inst_executed_op_local_ld.sum"},
    Counter{"local_stores", "", "stores to local memory", per_launch,
            "smsp__inst_executed_op_local_st.sum"},
    Counter{"shared_load_conflicts", "", "cycles that bank conflicts added to shared loads",
            per_launch, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"},
    Counter{"shared_store_conflicts", "", "cycles that bank conflicts added to shared stores",
            per_launch, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"},
    Counter{"shared_load_wavefronts", "", "cycles that shared loads took, conflicts included",
            per_launch, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"},
    Counter{"shared_store_wavefronts", "", "cycles that shared stores took, conflicts included",
            per_launch, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"},
};

// How near the busiest part of each unit comes to its maximum, which is the first question about a
// kernel: seven to nine passes.
constexpr std::array kThroughput = {
    Counter{"sm_throughput_percent", "%", "busiest pipe or scheduler of the SMs", average,
            "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    Counter{"memory_throughput_percent", "%", "busiest part of the way from L1 to device memory",
            average, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"},
    Counter{"l1_throughput_percent", "%", "busiest part of the L1 caches", average,
            "l1tex__throughput.avg.pct_of_peak_sustained_active"},
    Counter{"l2_throughput_percent", "%", "busiest part of the L2 cache", average,
            "lts__throughput.avg.pct_of_peak_sustained_elapsed"},
    Counter{"dram_throughput_percent", "%", "device memory, of its rated bandwidth", average,
            "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
};

// The reasons for which a scheduler's warps wait, in warps per issued instruction: 5.2 for a reason
// means that per issued instruction 5.2 warps waited for it. Five to seven passes.
#define MGTUNE_STALL(reason, meaning)                                          \
  Counter {                                                                    \
    "stall_" #reason, "warps", meaning, average,                               \
        "smsp__average_warps_issue_stalled_" #reason "_per_issue_active.ratio" \
  }

constexpr std::array kStalls = {
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

constexpr std::array kSets = {CounterSet{"essentials", 1, kEssentials},
                              CounterSet{"throughput", 1, kThroughput},
                              CounterSet{"stalls", 2, kStalls}};

}  // namespace

std::span<const CounterSet> counter_sets() { return kSets; }

const Counter* find_counter(std::string_view name) {
  for (const CounterSet& set : kSets) {
    for (const Counter& counter : set.counters) {
      if (counter.name == name) return &counter;
    }
  }
  return nullptr;
}

}  // namespace mgtune

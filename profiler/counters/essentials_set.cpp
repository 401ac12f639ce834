// The counters that say the most about a kernel in two passes, on every chip from Turing to
// Blackwell. One more counter of the L1 cache would make it three passes, because its unit counts
// only a few at a time. The sum of all shared wavefronts would be one too many; those of loads and
// of stores are not.

#include "counters/counter_sets.h"

namespace mgtune {
namespace {

constexpr double kSectorBytes = 32;
constexpr double kMegahertz = 1e-6;

constexpr CounterKind kEssentialsAverage = CounterKind::average;
constexpr CounterKind kPerLaunch = CounterKind::per_launch;

constexpr std::array kEssentialsCounters = {
    Counter{"elapsed_ns", "ns", "time of the counted range, gaps between launches included",
            kPerLaunch, "gpu__time_duration.sum"},
    Counter{"sm_clock_mhz", "MHz", "clock of the SMs meanwhile", kEssentialsAverage,
            "sm__cycles_elapsed.avg.per_second", "", kMegahertz},
    Counter{"dram_clock_mhz", "MHz", "clock of the device memory meanwhile", kEssentialsAverage,
            "dram__cycles_elapsed.avg.per_second", "", kMegahertz},
    Counter{"dram_read_bytes", "bytes", "read from device memory", kPerLaunch,
            "dram__bytes_read.sum", "fbpa__dram_read_bytes.sum"},
    Counter{"dram_write_bytes", "bytes", "written to device memory", kPerLaunch,
            "dram__bytes_write.sum", "fbpa__dram_write_bytes.sum"},
    Counter{"l2_bytes", "bytes", "through the L2 cache, from and to everything", kPerLaunch,
            "lts__t_bytes.sum"},
    Counter{"l2_bytes_from_sm", "bytes", "of these, those that the SMs' L1 caches asked for",
            kPerLaunch, "lts__t_sectors_srcunit_tex.sum", "", kSectorBytes},
    Counter{"l2_hit_percent", "%", "32-byte sectors that were in the L2 cache", kEssentialsAverage,
            "lts__t_sector_hit_rate.pct"},
    Counter{"l1_hit_percent", "%", "32-byte sectors that were in the L1 cache", kEssentialsAverage,
            "l1tex__t_sector_hit_rate.pct"},
    Counter{"occupancy_percent", "%", "warps resident, of those that an SM can hold",
            kEssentialsAverage, "sm__warps_active.avg.pct_of_peak_sustained_active"},
    Counter{"issue_active_percent", "%", "cycles in which a scheduler issued an instruction",
            kEssentialsAverage, "smsp__issue_active.avg.pct_of_peak_sustained_active"},
    Counter{"instructions", "", "instructions executed, one for each warp", kPerLaunch,
            "smsp__inst_executed.sum"},
    Counter{"tensor_active_percent", "%", "cycles in which the tensor pipe was busy",
            kEssentialsAverage, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"},
    Counter{"wgmma_instructions", "", "wgmma instructions, one for each warp", kPerLaunch,
            "sm__inst_executed_pipe_tensor_op_gmma.sum"},
    Counter{"local_loads", "", "loads from local memory: spilled registers, indexed arrays",
            kPerLaunch, "smsp__inst_executed_op_local_ld.sum"},
    Counter{"local_stores", "", "stores to local memory", kPerLaunch,
            "smsp__inst_executed_op_local_st.sum"},
    Counter{"shared_load_conflicts", "", "cycles that bank conflicts added to shared loads",
            kPerLaunch, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"},
    Counter{"shared_store_conflicts", "", "cycles that bank conflicts added to shared stores",
            kPerLaunch, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"},
    Counter{"shared_load_wavefronts", "", "cycles that shared loads took, conflicts included",
            kPerLaunch, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"},
    Counter{"shared_store_wavefronts", "", "cycles that shared stores took, conflicts included",
            kPerLaunch, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"},
};

constexpr CounterSet kEssentialsSet = {"essentials", 1, kEssentialsCounters};

}  // namespace

const CounterSet& essentials_set() { return kEssentialsSet; }

}  // namespace mgtune

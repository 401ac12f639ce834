// How near the busiest part of each unit comes to its maximum: seven to nine passes.

#include "counters/counter_sets.h"

namespace mgtune {
namespace {

constexpr CounterKind kThroughputAverage = CounterKind::average;

constexpr std::array kThroughputCounters = {
    Counter{"sm_throughput_percent", "%", "busiest pipe or scheduler of the SMs",
            kThroughputAverage, "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    Counter{"memory_throughput_percent", "%", "busiest part of the way from L1 to device memory",
            kThroughputAverage, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"},
    Counter{"l1_throughput_percent", "%", "busiest part of the L1 caches", kThroughputAverage,
            "l1tex__throughput.avg.pct_of_peak_sustained_active"},
    Counter{"l2_throughput_percent", "%", "busiest part of the L2 cache", kThroughputAverage,
            "lts__throughput.avg.pct_of_peak_sustained_elapsed"},
    Counter{"dram_throughput_percent", "%", "device memory, of its rated bandwidth",
            kThroughputAverage, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
};

constexpr CounterSet kThroughputSet = {"throughput", 2, kThroughputCounters};

}  // namespace

const CounterSet& throughput_set() { return kThroughputSet; }

}  // namespace mgtune

// How near the busiest part of each unit comes to what it can do: seven to nine passes.

#include "counters/counter_sets.h"

namespace mgtune {
namespace {

constexpr CounterKind kAverage = CounterKind::average;

constexpr std::array kCounters = {
    Counter{"sm_throughput_percent",
            "%",
            "busiest pipe or scheduler of the SMs",
            kAverage,
            {"sm__throughput.avg.pct_of_peak_sustained_elapsed"}},
    Counter{"memory_throughput_percent",
            "%",
            "busiest part of the way from L1 to device memory",
            kAverage,
            {"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"}},
    Counter{"l1_throughput_percent",
            "%",
            "busiest part of the L1 caches",
            kAverage,
            {"l1tex__throughput.avg.pct_of_peak_sustained_active"}},
    Counter{"l2_throughput_percent",
            "%",
            "busiest part of the L2 cache",
            kAverage,
            {"lts__throughput.avg.pct_of_peak_sustained_elapsed"}},
    Counter{"dram_throughput_percent",
            "%",
            "device memory, of its rated bandwidth",
            kAverage,
            {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"}},
};

constexpr CounterSet kSet = {"throughput", 2, kCounters};

}  // namespace

const CounterSet& throughput_set() { return kSet; }

}  // namespace mgtune

// The counters of a launch: all sets of a tier over a row of launches on rotating buffer sets,
// counted as one range. A sum is divided by the number of launches, so that what the first launch
// finds in the L2 cache and what the last leaves there do not matter.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "counters/counter_sets.h"
#include "counters/range_counter.h"
#include "device/device.h"
#include "timing/timer.h"

namespace mgtune {

struct CountedLaunches {
  struct Value {
    const Counter* counter;
    double value;  // per launch where the counter is a sum
  };
  std::vector<Value> values;          // in the order of the sets
  std::vector<std::string> left_out;  // "counter: why"
  std::int64_t launches = 0;          // in the range
  std::int64_t passes = 0;            // over all sets: the range ran this often, and once before
};

// How many launches one range holds: at least 16, every buffer set equally often.
std::int64_t launches_in_range(std::int64_t buffer_sets);

// The work takes turns through `buffer_sets` sets of buffers, on the null stream. invalid_argument
// for a tier that is none; environment when the chip counts nothing of it, and as RangeCounter; the
// work's own failures as they are.
Result<CountedLaunches> count_launches(RangeCounter& counter, Device& device, const TimedWork& work,
                                       std::int64_t buffer_sets, int tier);

}  // namespace mgtune

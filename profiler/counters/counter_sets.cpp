#include "counters/counter_sets.h"

// The counter sets, one per line, in the order of tables.
#define MGTUNE_COUNTER_SETS(SET) \
  SET(essentials)                \
  SET(throughput)                \
  SET(stalls)

#define MGTUNE_DECLARE_SET(name) const CounterSet& name##_set();
#define MGTUNE_SET_ADDRESS(name) &name##_set(),

namespace mgtune {

MGTUNE_COUNTER_SETS(MGTUNE_DECLARE_SET)

std::span<const CounterSet* const> counter_sets() {
  static const CounterSet* const kSets[] = {MGTUNE_COUNTER_SETS(MGTUNE_SET_ADDRESS)};
  return kSets;
}

const Counter* find_counter(std::string_view name) {
  for (const CounterSet* set : counter_sets()) {
    for (const Counter& counter : set->counters) {
      if (counter.name == name) return &counter;
    }
  }
  return nullptr;
}

}  // namespace mgtune

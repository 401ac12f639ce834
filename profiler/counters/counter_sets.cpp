#include "counters/counter_sets.h"

namespace mgtune {
namespace {

constexpr std::array<const CounterSet*, 3> kSets = {&kEssentialsSet, &kThroughputSet, &kStallsSet};

}  // namespace

std::span<const CounterSet* const> counter_sets() { return kSets; }

const Counter* find_counter(std::string_view name) {
  for (const CounterSet* set : kSets) {
    for (const Counter& counter : set->counters) {
      if (counter.name == name) return &counter;
    }
  }
  return nullptr;
}

}  // namespace mgtune

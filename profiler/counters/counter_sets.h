// Counters: what mgtune counts on a GPU, as data: a plain name, a unit, one line of meaning, and
// the metrics of NVIDIA's chips that give the value. The counters of a set are counted together. A
// user asks for a tier: tier N means all sets whose `tier` is at most N. Constant data.
//
// A new counter is a row in the table of its set in counter_sets.cpp. A new set is one more such
// table there, and one line in kSets.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace mgtune {

enum class CounterKind : std::uint8_t {
  per_launch,  // a sum over the counted launches, divided by their number
  average,     // a ratio, a share or a rate: not divided
};

struct Counter {
  std::string_view name;     // "dram_read_bytes": in the store, in JSON and on the screen
  std::string_view unit;     // "bytes", "%", "" for a plain number
  std::string_view meaning;  // one line
  CounterKind kind = CounterKind::per_launch;
  std::string_view metric;             // of NVIDIA's chips
  std::string_view other_metric = "";  // for chips that do not have `metric`; "": none
  double scale = 1;                    // from the metric's unit to ours
};

struct CounterSet {
  std::string_view name;  // "essentials"
  int tier;               // 1: for every finalist of a sweep; 2: more, on request
  std::span<const Counter> counters;
};

inline constexpr int kTiers = 2;

std::span<const CounterSet> counter_sets();          // in the order of tables
const Counter* find_counter(std::string_view name);  // null for an unknown name

}  // namespace mgtune

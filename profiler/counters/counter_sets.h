// Counters: the counters of mgtune, as data: a plain name, a unit, one line that says what it
// means, and the metrics of NVIDIA's chips that give it. The counters of a set are counted
// together. A tier includes all sets up to it. Constant data.
//
// To add a counter, add a row to its set's file. To add a set, add a file that defines a
// CounterSet, its declaration below, and its row in counter_sets.cpp.

#pragma once

#include <array>
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
  // The first of these metrics that a chip has is counted. "" ends the list.
  std::array<std::string_view, 2> metrics;
  double scale = 1;  // from the metric's unit to ours
};

struct CounterSet {
  std::string_view name;  // "essentials"
  int tier;               // 1: one or two passes, for every finalist; 2: more, on request
  std::span<const Counter> counters;
};

extern const CounterSet kEssentialsSet;
extern const CounterSet kThroughputSet;
extern const CounterSet kStallsSet;

inline constexpr int kTiers = 2;

std::span<const CounterSet* const> counter_sets();   // in the order of the tables that are printed
const Counter* find_counter(std::string_view name);  // null for an unknown name

}  // namespace mgtune

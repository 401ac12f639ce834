// Roofline: how near a measured variant comes to the ceilings of its GPU, and what limits it, in
// one plain sentence with the figure that shows it. Pure.
//
// The sentence follows the strongest evidence: hardware counters before conclusions from time and
// cost alone. If nothing was counted, the sentence says so and does not guess.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "store/records.h"

namespace mgtune {

struct RooflineInput {
  double bytes = 0, flops = 0;  // of the problem's cost: bytes that must move, operations
  double median_ns = 0;
  double copy_ns = 0;    // of the fastest copy of the same number of bytes; 0: not known
  int spill_bytes = -1;  // of the build; -1: not reported
  std::int64_t sm_count = 0;
  std::span<const CounterRecord> counters;  // of one launch; empty: not counted
  std::span<const CeilingRecord> ceilings;  // of this GPU, by the method of the time
};

struct Roofline {
  std::optional<double> intensity;  // operations per byte that must move
  std::optional<double> of_copy;  // 0.96: a copy of the same number of bytes takes 96 % of its time
  std::optional<double> of_peak;  // of `peak`
  std::string peak;   // "fp32", "wgmma_bf16": the peak that of_peak refers to; "" without one
  std::string limit;  // "Memory bandwidth: 96 % of the copy rate at these bytes (time, cost)."
};

// A field stays empty if the input does not have the figures for it. For a time of 0 all are empty.
Roofline roofline(const RooflineInput& input);

}  // namespace mgtune

// Roofline: how near a measured variant comes to what its GPU can do, and what limits it, in one
// plain sentence that names the figure which says so. Pure.
//
// The sentence follows the strongest evidence: what the hardware counted before what follows from
// time and cost alone. Where nothing was counted it says so instead of guessing.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "store/records.h"

namespace mgtune {

struct RooflineInput {
  double bytes = 0, flops = 0;  // of the problem's cost: what must move, what must be computed
  double median_ns = 0;
  double copy_ns = 0;    // of the fastest copy of as many bytes; 0: not known
  int spill_bytes = -1;  // of the build; -1: not reported
  std::int64_t sm_count = 0;
  std::span<const CounterRecord> counters;  // of one launch; empty: not counted
  std::span<const CeilingRecord> ceilings;  // of this GPU, by the method of the time
};

struct Roofline {
  std::optional<double> intensity;  // operations a byte that must move
  std::optional<double> of_copy;    // 0.96: the copy of as many bytes takes 96 % of its time
  std::optional<double> of_peak;    // of `peak`
  std::string peak;                 // "fp32", "wgmma_bf16": what of_peak is of; "" without one
  std::string limit;  // "Memory bandwidth: 96 % of the copy rate at these bytes (time, cost)."
};

// All that can be said; everything empty for a time of 0.
Roofline roofline(const RooflineInput& input);

}  // namespace mgtune

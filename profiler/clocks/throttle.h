// Throttle reasons: why a GPU's clocks are lower than its load needs, as bits of NVML. Pure.

#pragma once

#include <cstdint>
#include <string>

namespace mgtune {

// Whether the hardware or the driver holds the clocks down, so that times are longer than they
// should be: power cap, slow-down, heat, power brake. These do not count: idle, clocks that
// somebody has set (they apply to the whole sweep), boost in step with other GPUs, a display.
bool is_throttled(std::uint64_t reasons);

// These reasons as words: "sw_power_cap hw_thermal_slowdown"; "" if none of them applies.
std::string throttle_text(std::uint64_t reasons);

}  // namespace mgtune

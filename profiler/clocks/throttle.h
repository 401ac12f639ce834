// Throttle reasons: why a GPU's clocks are below what its load asks for, as NVML's bits say it.
// Pure.

#pragma once

#include <cstdint>
#include <string>

namespace mgtune {

// Whether the hardware or the driver holds the clocks down, so that times are longer than the
// kernel makes them: power cap, slow-down, heat, power brake. Not so: idle, clocks that someone
// has set (they hold for the whole sweep), boost in step with other GPUs, a display.
bool is_throttled(std::uint64_t reasons);

// Those reasons in words: "sw_power_cap hw_thermal_slowdown"; "" when none holds them down.
std::string throttle_text(std::uint64_t reasons);

}  // namespace mgtune

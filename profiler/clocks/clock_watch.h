// ClockWatch: reads a GPU's clocks, power and temperature by NVML. It never sets them. A reading
// takes some tens of microseconds and needs no context on the GPU.
//
// One thread. A watch keeps NVML started; any number of watches may be open.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/status.h"
#include "system/shared_library.h"

namespace mgtune {

// A field is 0 if NVML does not report it. Every field is read separately.
struct ClockSample {
  double sm_mhz = 0, memory_mhz = 0, power_w = 0, temperature_c = 0;
  std::uint64_t reasons = 0;  // why the clocks are lower than the load needs: bits of NVML
};

// Whether the hardware or the driver holds the clocks down, so that times are longer than they
// should be: power cap, slow-down, heat, power brake. These do not count: idle, clocks that
// somebody has set (they apply to the whole sweep), boost in step with other GPUs, a display.
bool is_throttled(std::uint64_t reasons);

// These reasons as words: "sw_power_cap hw_thermal_slowdown"; "" if none of them applies.
std::string throttle_text(std::uint64_t reasons);

class ClockWatch {
 public:
  virtual ~ClockWatch() = default;
  virtual ClockSample read() = 0;
};

// `device_id` is DeviceInfo::id. For a MIG instance the readings are those of its GPU. environment,
// with the reason, if NVML is missing, does not start, or does not know the device.
Result<std::unique_ptr<ClockWatch>> open_clock_watch(const std::string& device_id,
                                                     LibraryLoader& loader = LibraryLoader::real());

// The limits of the GPU; 0 if NVML does not report them.
struct ClockLimits {
  double sm_mhz = 0, memory_mhz = 0;
  double power_w = 0;  // the limit that the driver enforces
};

// Fails as open_clock_watch() does.
Result<ClockLimits> read_clock_limits(const std::string& device_id,
                                      LibraryLoader& loader = LibraryLoader::real());

}  // namespace mgtune

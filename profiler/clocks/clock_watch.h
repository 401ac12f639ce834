// ClockWatch: what a GPU's clocks, power and temperature are just now, by NVML. They are watched
// and never set. A reading takes some tens of microseconds and no context of the GPU.
//
// One thread. A watch keeps NVML started; any number may be open.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "clocks/throttle.h"
#include "system/shared_library.h"
#include "core/status.h"

namespace mgtune {

// 0 where NVML does not say: every field is asked for by itself.
struct ClockSample {
  double sm_mhz = 0, memory_mhz = 0, power_w = 0, temperature_c = 0;
  std::uint64_t reasons = 0;  // see throttle.h
};

class ClockWatch {
 public:
  virtual ~ClockWatch() = default;
  virtual ClockSample read() = 0;

 protected:
  ClockWatch() = default;
  ClockWatch(const ClockWatch&) = default;
  ClockWatch& operator=(const ClockWatch&) = default;
};

// `device_id` is DeviceInfo::id. A MIG instance gets the readings of its GPU. environment, with
// the reason, when NVML is missing, does not start or does not know the device.
Result<std::unique_ptr<ClockWatch>> open_clock_watch(const std::string& device_id,
                                                     LibraryLoader& loader = LibraryLoader::real());

// What the GPU may reach; 0 where NVML does not say.
struct ClockLimits {
  double sm_mhz = 0, memory_mhz = 0;
  double power_w = 0;  // that the driver keeps it to
};

// Fails as open_clock_watch() does.
Result<ClockLimits> read_clock_limits(const std::string& device_id,
                                      LibraryLoader& loader = LibraryLoader::real());

}  // namespace mgtune

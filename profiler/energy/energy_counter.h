// EnergyCounter: the joules that a GPU has used, by NVML's counter of the whole board. It counts
// from when the driver was loaded, and is updated every 20 to 100 ms. It needs no context on the
// GPU. One thread.

#pragma once

#include <memory>
#include <string>

#include "core/status.h"
#include "system/shared_library.h"

namespace mgtune {

class EnergyCounter {
 public:
  virtual ~EnergyCounter() = default;
  virtual Result<double> joules() = 0;
};

// `device_id` is DeviceInfo::id. environment, with the reason, if NVML is missing, does not start
// or does not know the device, if the GPU has no such counter (those before Volta), or if the
// device is a MIG instance: the counter counts what all instances of the GPU use.
Result<std::unique_ptr<EnergyCounter>> open_energy_counter(
    const std::string& device_id, LibraryLoader& loader = LibraryLoader::real());

}  // namespace mgtune

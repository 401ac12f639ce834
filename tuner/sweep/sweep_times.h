// SweepTimes: where the wall time of a sweep went, by GPU and phase, and how long the compile
// processes were at work. `mgtune sweep --profile-sweep` prints it. Plain data.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "measure/gpu_times.h"

namespace mgtune {

struct SweepShared;

struct SweepTimes {
  struct Gpu {
    std::string device;  // DeviceInfo::id
    GpuTimes::Times times{};
  };
  GpuTimes::Clock::duration wall{};  // the sum of the times of each GPU
  std::vector<Gpu> gpus;
  std::size_t compile_processes = 0;
  double compile_seconds = 0;  // of all processes together
};

SweepTimes sweep_times(SweepShared& shared);  // until now

}  // namespace mgtune

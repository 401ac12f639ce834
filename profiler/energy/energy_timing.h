// How much energy one launch of a kernel needs. The counter of the GPU is updated every 20 to
// 100 ms only, so a kernel runs back to back in windows of half a second. A window begins and ends
// where the counter changes, which is seen to within one batch of launches.
//
// The energy is that of the whole board while nothing but this kernel runs: memory, and what the
// board uses when it is idle, are in it. Several kernels take turns in random order, so heat and
// other drift affect all of them alike. One thread.

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/status.h"
#include "energy/energy_counter.h"
#include "store/records.h"
#include "timing/timer.h"

namespace mgtune {

struct EnergyBudget {
  std::int64_t windows = 4;      // of each work; at least 2
  double window_seconds = 0.5;   // the shortest; it ends where the counter changes next
  double warm_up_seconds = 0.2;  // before each window
  double batch_seconds = 0.004;  // of launches between two readings of the counter
  double stalled_seconds = 2;    // after which a counter that does not change is a failure
  std::uint64_t seed = 1;        // of the order

  // How long measuring so many works takes at most, if the counter works.
  double seconds(std::size_t works) const;
};

// Launches the work so many times and returns when all of them have run.
using EnergyWork = std::function<Status(std::int64_t launches)>;

// The mean of each work's windows. `error_joules` is the half width of the 95 % interval of the
// mean over the windows, or the resolution of a window, whichever is larger. The first failure ends
// it. environment if the counter stands still.
Result<TurnEnergy> measure_energy(EnergyCounter& counter, std::span<const EnergyWork> works,
                                  const EnergyBudget& budget,
                                  const HostClock& clock = steady_clock_ns);

}  // namespace mgtune

// Method "graph": many calls over the rotating buffer sets captured into one CUDA graph, which is
// replayed; a call's time is the replay's divided by them. It ranks variants with programmatic
// dependent launch, whose calls overlap, and problems under 20 us, as a program that uses graphs
// runs them.
//
// Always by CUDA events around a replay of about 1 ms, whose 2 us are then 0.2 %: one clock, so all
// its rows compare. A timer that records with CUPTI in the same process would slow its kernels
// down; have one at a time.

#pragma once

#include <memory>

#include "device/cuda/cuda_driver.h"
#include "timing/held_stream.h"
#include "timing/timer.h"

namespace mgtune {

// `driver` outlives the timer.
std::unique_ptr<Timer> make_graph_timer(const CudaDriver& driver,
                                        std::unique_ptr<HeldStream> stream,
                                        std::unique_ptr<ClockWatch> watch = nullptr);

}  // namespace mgtune

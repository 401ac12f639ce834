// Method "graph": many calls over the rotating buffer sets are captured into one CUDA graph. The
// time of a call is the time of a replay divided by the number of calls. This method ranks variants
// with programmatic dependent launch, whose calls overlap, and problems under 20 us, in the way in
// which a program with graphs runs them.
//
// It always uses CUDA events around a replay of about 1 ms. Their 2 us are then 0.2 %. It is always
// the same clock, so all rows of the method can be compared. A timer that records with CUPTI in the
// same process would slow the kernels down, so have only one timer at a time.

#pragma once

#include <memory>

#include "device/cuda/cuda_driver.h"
#include "timing/held_stream.h"
#include "timing/timer.h"

namespace mgtune {

// `driver` must outlive the timer.
std::unique_ptr<Timer> make_graph_timer(const CudaDriver& driver,
                                        std::unique_ptr<HeldStream> stream,
                                        std::unique_ptr<ClockWatch> watch = nullptr);

}  // namespace mgtune

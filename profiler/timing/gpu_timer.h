// The timers of GPUs by their method's name.

#pragma once

#include <memory>
#include <string>

#include "core/shared_library.h"
#include "core/status.h"
#include "device/cuda/cuda_driver.h"
#include "device/device.h"
#include "timing/timer.h"

namespace mgtune {

// method             clock
// "rotating"         CUPTI; where it is not to be had, the timer is of method "rotating_events" and
// every
//                    Timing::note says why
// "rotating_events"  CUDA events
// "graph"            CUDA events around replays of a graph
//
// The device outlives the timer. invalid_argument for another word; unsupported on the cpu device.
Result<std::unique_ptr<Timer>> make_gpu_timer(Device& device, const std::string& method);

// The same with a given driver, which outlives the timer, and loader, for tests.
Result<std::unique_ptr<Timer>> make_gpu_timer(Device& device, const std::string& method,
                                              const CudaDriver& driver, LibraryLoader& loader);

}  // namespace mgtune

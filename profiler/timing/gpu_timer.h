// The timers of GPUs by their method's name, and which of them this machine allows.

#pragma once

#include <memory>
#include <string>

#include "core/shared_library.h"
#include "core/status.h"
#include "device/cuda/cuda_driver.h"
#include "device/device.h"
#include "timing/timer.h"

namespace mgtune {

// "rotating" where CUPTI is to be had, else "rotating_events" with the reason. It opens CUPTI and
// records for a moment, so CUPTI watches this process from then on: ask in a short-lived
// one.
TimingMethod default_gpu_method(LibraryLoader& loader = LibraryLoader::real());

// method             clock
// "rotating"         CUPTI; environment, with the reason, where it is not to be had
// "rotating_events"  CUDA events; Timing::note says method.reason
// "graph"            CUDA events around replays of a graph
//
// The device outlives the timer. invalid_argument for another word; unsupported on the cpu device.
Result<std::unique_ptr<Timer>> make_gpu_timer(Device& device, const TimingMethod& method);

// The same with a given driver, which outlives the timer, and loader, for tests.
Result<std::unique_ptr<Timer>> make_gpu_timer(Device& device, const TimingMethod& method,
                                              const CudaDriver& driver, LibraryLoader& loader);

}  // namespace mgtune

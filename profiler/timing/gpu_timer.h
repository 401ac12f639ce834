// The timers of GPUs by their method's name, and which of them this machine allows.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "build/builder.h"
#include "system/shared_library.h"
#include "core/status.h"
#include "device/cuda/cuda_driver.h"
#include "device/device.h"
#include "timing/timer.h"

namespace mgtune {

// "rotating" where CUPTI is to be had, else "rotating_events" with the reason. It opens CUPTI and
// records for a moment, so CUPTI watches this process from then on: ask in a short-lived
// one.
TimingMethod default_gpu_method(LibraryLoader& loader = LibraryLoader::real());

// method             clock            data
// "rotating"         CUPTI            buffer sets that turn, so that none is in the L2
// "cold"             CUPTI            the L2 is emptied by reading before each call
// "hot"              CUPTI            the same buffers in each call: in the L2 as far as they fit
// "graph"            CUDA events      as rotating, in replays of a graph
// "rotating_events"  CUDA events      as rotating; Timing::note says method.reason
//
// The device outlives the timer; the builder compiles what empties the cache. environment, with the
// reason, where CUPTI is needed and not to be had; invalid_argument for another word; unsupported
// on the cpu device.
Result<std::unique_ptr<Timer>> make_gpu_timer(Device& device, Builder& builder,
                                              const TimingMethod& method);

// The same with a given driver, which outlives the timer, and loader, for tests.
Result<std::unique_ptr<Timer>> make_gpu_timer(Device& device, Builder& builder,
                                              const TimingMethod& method, const CudaDriver& driver,
                                              LibraryLoader& loader);

// What a sweep's --method may say.
const std::vector<std::string>& gpu_methods();

// Whether the method's calls turn through buffer sets, so that there must be several.
bool turns_through_sets(const std::string& method);

// Whether it is CUPTI that times it.
bool needs_cupti(const std::string& method);

}  // namespace mgtune

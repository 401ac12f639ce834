// The timers of GPUs by the names of their methods, and which methods this machine allows.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "build/builder.h"
#include "core/status.h"
#include "device/cuda/cuda_driver.h"
#include "device/device.h"
#include "system/shared_library.h"
#include "timing/timer.h"

namespace mgtune {

// "rotating" if CUPTI can be used, otherwise "rotating_events" with the reason. This opens CUPTI
// and records for a moment, and CUPTI watches this process from then on. So call it in a
// short-lived process.
TimingMethod default_gpu_method(LibraryLoader& loader = LibraryLoader::real());

// method             clock            data
// "rotating"         CUPTI            buffer sets that rotate, so that none is in the L2
// "cold"             CUPTI            the L2 is emptied by reading before each call
// "hot"              CUPTI            the same buffers in each call: in the L2 as far as they fit
// "graph"            CUDA events      as rotating, in replays of a graph
// "rotating_events"  CUDA events      as rotating; Timing::note says method.reason
//
// The device must outlive the timer. The builder compiles the kernel that empties the cache.
// environment, with the reason, if CUPTI is needed and cannot be used; invalid_argument for an
// unknown method; unsupported on the cpu device.
Result<std::unique_ptr<Timer>> make_gpu_timer(Device& device, Builder& builder,
                                              const TimingMethod& method);

// The same with a given driver, which must outlive the timer, and a given loader, for tests.
Result<std::unique_ptr<Timer>> make_gpu_timer(Device& device, Builder& builder,
                                              const TimingMethod& method, const CudaDriver& driver,
                                              LibraryLoader& loader);

// The methods that a sweep's --method accepts.
const std::vector<std::string>& gpu_methods();

// Whether the method's calls rotate through buffer sets, so that there must be several.
bool turns_through_sets(const std::string& method);

// Whether the method uses CUPTI.
bool needs_cupti(const std::string& method);

}  // namespace mgtune

// The ceilings that a problem's times are compared with: what the GPU can do at most. A ceiling
// comes from the store, if its row is still valid for this GPU, or from the measure worker. One
// thread.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/status.h"
#include "measure/measure_pool.h"
#include "store/store.h"

namespace mgtune {

struct SweepShared;

struct CeilingNeed {
  std::string kind;    // one of ceiling_kinds()
  std::string method;  // of the timing
  std::int64_t bytes = 0;
};

// The row of the store for the GPU, measured with the same driver in the last 30 days.
Result<std::optional<CeilingRecord>> find_fresh_ceiling(Store& store, std::int64_t gpu,
                                                        const std::string& driver,
                                                        const CeilingNeed& need);

// Measured by the first of `workers`, by its own method. unsupported, with the reason, if the
// device does not have such a unit. launch_failed if the worker crashed, timeout if it did not
// finish in time, otherwise the worker's failure.
Result<CeilingRecord> request_ceiling(MeasurePool& workers, std::int64_t request_id,
                                      const CeilingNeed& need);

// A copy of the problem's bytes, which gives `view` its copy_ns, and the arithmetic peaks where
// arithmetic may limit the problem. To be called before the problem's first variant is measured: a
// problem of which everything is known needs none. Does nothing on the cpu device, and for a
// problem that moves no bytes.
Status measure_ceilings(SweepShared& shared, TunedView& view);

}  // namespace mgtune

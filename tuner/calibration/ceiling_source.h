// Where a ceiling comes from: the store, when what it has is still true of this GPU, or the measure
// worker. One thread.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/status.h"
#include "store/store.h"
#include "measure/measure_pool.h"

namespace mgtune {

struct CeilingNeed {
  std::string kind;    // one of ceiling_kinds()
  std::string method;  // of the timing
  std::int64_t bytes = 0;
};

// What the store has of the GPU, measured under the same driver in the last 30 days.
Result<std::optional<CeilingRecord>> find_fresh_ceiling(Store& store, std::int64_t gpu,
                                                        const std::string& driver,
                                                        const CeilingNeed& need);

// As the first of `workers` measures it, by its own method. unsupported where the device has no
// such thing, with the reason; launch_failed when the worker crashed, timeout when it was not done
// in time; else the worker's failure.
Result<CeilingRecord> request_ceiling(MeasurePool& workers, std::int64_t request_id,
                                      const CeilingNeed& need);

}  // namespace mgtune

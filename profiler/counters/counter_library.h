// CounterLibrary: CUPTI's functions for hardware counters. They belong to three of CUPTI's APIs:
// the Range Profiler, the Profiler Host API, and the Profiler Target API, which both need. All of
// them are in the library that also times kernels (cupti/cupti_library.h). It is opened at run
// time.
//
// The functions cuptiProfilerHost... need neither a GPU nor a driver. Counting with the others
// needs a permission, because counters tell one process what other processes do on the GPU. Nothing
// of the deprecated Profiling, Event and Metric APIs is used.

#pragma once

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cstddef>

#include "core/status.h"
#include "cupti/cupti_library.h"
#include "system/shared_library.h"

#define MGTUNE_COUNTER_FUNCTIONS(X)               \
  X(cuptiProfilerHostGetSupportedChips)           \
  X(cuptiProfilerHostInitialize)                  \
  X(cuptiProfilerHostDeinitialize)                \
  X(cuptiProfilerHostGetBaseMetrics)              \
  X(cuptiProfilerHostGetMetricProperties)         \
  X(cuptiProfilerHostConfigAddMetrics)            \
  X(cuptiProfilerHostGetConfigImageSize)          \
  X(cuptiProfilerHostGetConfigImage)              \
  X(cuptiProfilerHostGetNumOfPasses)              \
  X(cuptiProfilerHostEvaluateToGpuValues)         \
  X(cuptiProfilerInitialize)                      \
  X(cuptiProfilerDeInitialize)                    \
  X(cuptiDeviceGetChipName)                       \
  X(cuptiProfilerGetCounterAvailability)          \
  X(cuptiRangeProfilerEnable)                     \
  X(cuptiRangeProfilerDisable)                    \
  X(cuptiRangeProfilerGetCounterDataSize)         \
  X(cuptiRangeProfilerCounterDataImageInitialize) \
  X(cuptiRangeProfilerSetConfig)                  \
  X(cuptiRangeProfilerStart)                      \
  X(cuptiRangeProfilerPushRange)                  \
  X(cuptiRangeProfilerPopRange)                   \
  X(cuptiRangeProfilerStop)                       \
  X(cuptiRangeProfilerDecodeData)                 \
  X(cuptiRangeProfilerGetCounterDataInfo)

namespace mgtune {

struct CounterLibrary {
  CuptiLibrary cupti;

  MGTUNE_COUNTER_FUNCTIONS(MGTUNE_DECLARE_FUNCTION)

  // ok for CUPTI_SUCCESS. Otherwise a failure of kind environment with the text of `what` and the
  // name of CUPTI's error. If the permission is missing, or another program uses the counters or
  // CUPTI, the message says what to do.
  Status status(CUptiResult result, const char* what) const;
};

// Finds the library as open_cupti() does, and fails as it does. The failure is environment too if
// the library does not have all of these functions.
Result<CounterLibrary> open_counter_library(LibraryLoader& loader = LibraryLoader::real());

// Every function takes one struct, whose first member is the size of the struct. CUPTI's header
// defines the size of X_Params as X_Params_STRUCT_SIZE.
#define MGTUNE_COUNTER_PARAMS(Params) mgtune::params_of_size<Params>(Params##_STRUCT_SIZE)
template <typename Params>
Params params_of_size(std::size_t bytes) {
  Params params{};
  params.structSize = bytes;
  return params;
}

}  // namespace mgtune

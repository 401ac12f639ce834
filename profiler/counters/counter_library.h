// CounterLibrary: CUPTI's functions for hardware counters: the Range Profiler, its host half, and
// the few functions of the target that both need. From the same library that times kernels
// (timing/cupti_library.h), opened at run time.
//
// The functions cuptiProfilerHost... need neither a GPU nor a driver. The others need privilege:
// counters tell one process what others do on the GPU. Of the deprecated Profiling, Event and
// Metric APIs nothing is here.

#pragma once

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cstddef>

#include "system/shared_library.h"
#include "core/status.h"
#include "cupti/cupti_library.h"

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

// NOLINTNEXTLINE(bugprone-macro-parentheses): it declares a name
#define MGTUNE_DECLARE(function) decltype(&::function) function = nullptr;
  MGTUNE_COUNTER_FUNCTIONS(MGTUNE_DECLARE)
#undef MGTUNE_DECLARE

  // ok for CUPTI_SUCCESS, else environment: "what: CUPTI_ERROR_NAME". Missing privilege, counters
  // that another program uses and a CUPTI that another tool holds come with what to do.
  Status status(CUptiResult result, const char* what) const;
};

// As open_cupti(); environment as well when that library is too old to count.
Result<CounterLibrary> open_counter_library(LibraryLoader& loader = LibraryLoader::real());

// Every function takes one struct that says its own size: X_Params_STRUCT_SIZE of its header.
template <typename Params>
Params params_of_size(std::size_t bytes) {
  Params params{};
  params.structSize = bytes;
  return params;
}

}  // namespace mgtune

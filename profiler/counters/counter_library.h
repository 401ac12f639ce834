// CounterLibrary: CUPTI's functions for hardware counters: the Range Profiler, its host part, and
// the few functions of the target that both need. They are from the same library that times kernels
// (cupti/cupti_library.h), which is opened at run time.
//
// The functions cuptiProfilerHost... need neither a GPU nor a driver. The others need privilege,
// because counters tell one process what other processes do on the GPU. Nothing of the deprecated
// Profiling, Event and Metric APIs is used.

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

// NOLINTNEXTLINE(bugprone-macro-parentheses): it declares a name
#define MGTUNE_DECLARE(function) decltype(&::function) function = nullptr;
  MGTUNE_COUNTER_FUNCTIONS(MGTUNE_DECLARE)
#undef MGTUNE_DECLARE

  // ok for CUPTI_SUCCESS, otherwise environment: "what: CUPTI_ERROR_NAME". If privilege is missing,
  // or another program uses the counters or CUPTI, the message says what to do.
  Status status(CUptiResult result, const char* what) const;
};

// Like open_cupti(). Also environment if the library is too old to count.
Result<CounterLibrary> open_counter_library(LibraryLoader& loader = LibraryLoader::real());

// Every function takes one struct that says its own size: X_Params_STRUCT_SIZE of its header.
#define MGTUNE_COUNTER_PARAMS(Params) mgtune::params_of_size<Params>(Params##_STRUCT_SIZE)
template <typename Params>
Params params_of_size(std::size_t bytes) {
  Params params{};
  params.structSize = bytes;
  return params;
}

}  // namespace mgtune

// RangeCounter: hardware counters over one range of work on a GPU: the target part of CUPTI's Range
// Profiler, with user ranges and user replay. The GPU has fewer counters than metrics need, so the
// same work runs once per pass. The caller launches it again: its inputs must still be there, and
// it may write its outputs again. Between passes nothing is flushed, saved or restored, and no
// clock is locked.
//
// A process that records activity (cupti/activity_recorder.h) must not count, because CUPTI allows
// only one of the two. At most one object per process and GPU. One thread, with the GPU's context
// current.

#pragma once

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "counters/counter_library.h"
#include "counters/metric_host.h"

namespace mgtune {

// Launches everything that is to be counted, and returns when the GPU has finished.
using CountedWork = std::function<Status()>;

class RangeCounter {
 public:
  // `index` is CUDA's ordinal of the context's GPU. environment if this process does not have the
  // permission to read counters, or if another tool uses them. The message says what to do. To find
  // this out, the function asks the GPU for its available counters.
  static Result<std::unique_ptr<RangeCounter>> make(const CounterLibrary& library,
                                                    CUcontext context, int index);
  ~RangeCounter();
  RangeCounter(const RangeCounter&) = delete;
  RangeCounter& operator=(const RangeCounter&) = delete;

  const MetricHost& host() const { return *host_; }  // of this GPU

  // The values of the metrics over the work, which runs config.passes times. `config` must be
  // host()'s configuration for exactly these metrics. It may be called many times, each time with
  // other metrics. environment if CUPTI lost the range. The work's own failures are returned
  // unchanged.
  Result<std::vector<double>> count(const MetricConfig& config,
                                    std::span<const std::string> metrics, const CountedWork& work);

 private:
  RangeCounter(const CounterLibrary& library, CUcontext context)
      : library_(library), context_(context) {}

  CounterLibrary library_;
  CUcontext context_;
  std::unique_ptr<MetricHost> host_;
};

}  // namespace mgtune

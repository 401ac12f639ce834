// RangeCounter: hardware counters over one range of work on a GPU: the target half of CUPTI's Range
// Profiler, in user ranges and user replay. The GPU has fewer counters than metrics want, so the
// same work runs once a pass, launched again by whoever counts: its inputs must still be there, and
// what it writes it may write again. Nothing is flushed, saved or restored between passes, and no
// clock is locked.
//
// A process that records activity (timing/activity_recorder.h) must not count: CUPTI allows either.
// At most one object a process and GPU. One thread, with the GPU's context current.

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

// Launches everything that is to be counted, and returns when the GPU has done it.
using CountedWork = std::function<Status()>;

class RangeCounter {
 public:
  // `index` is CUDA's ordinal of the context's GPU. environment, with what to do, where counters
  // need privilege that this process lacks, or another tool has them; asks the GPU for what it can
  // count to find out.
  static Result<std::unique_ptr<RangeCounter>> make(const CounterLibrary& library,
                                                    CUcontext context, int index);
  ~RangeCounter();
  RangeCounter(const RangeCounter&) = delete;
  RangeCounter& operator=(const RangeCounter&) = delete;

  const MetricHost& host() const { return *host_; }  // of this GPU

  // The metrics' values over the work, which runs config.passes times. `config` is host()'s for
  // exactly these metrics. Any number of times with other metrics; environment when CUPTI lost the
  // range. What the work itself reports comes back as it is.
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

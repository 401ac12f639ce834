// FakeCounters: a libcupti whose chips have the metrics that a test names, which counts what a test
// says, and which fails at any call. One at a time.

#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "counters/counter_library.h"
#include "counters/counter_sets.h"
#include "tests/helpers/fakes/fake_gpu.h"

namespace mgtune {

// The set of this name in the table.
inline const CounterSet& counter_set(std::string_view name) {
  return *std::ranges::find(counter_sets(), name, &CounterSet::name);
}

class FakeCounters {
 public:
  // What tests set.
  std::string chip = "GH100";                           // of the GPU
  std::vector<std::string> chips = {"TU102", "GH100"};  // that CUPTI knows
  std::map<std::string, double> metrics;                // of every chip, with what it counts
  std::vector<std::string> unavailable;                 // metrics of the chip, not of this GPU
  std::map<std::string, CUptiResult> failures;          // by function: every call of it fails
  std::size_t passes = 2;                               // that are planned
  std::size_t passes_wanted = 0;                        // that it takes, where not 0
  std::size_t dropped = 0, ranges = 1;

  // What tests read.
  std::vector<std::string> calls;  // of the target's functions and the evaluation
  int hosts_alive = 0, enabled = 0;
  bool initialized = false;

  explicit FakeCounters(FakeGpu& gpu) {
    self() = this;
    gpu.loader.libraries[FakeCupti::file_name()].merge(symbols());
  }
  ~FakeCounters() { self() = nullptr; }
  FakeCounters(const FakeCounters&) = delete;
  FakeCounters& operator=(const FakeCounters&) = delete;

  std::size_t count_of(const std::string& call) const {
    return static_cast<std::size_t>(std::ranges::count(calls, call));
  }

 private:
  // What metrics are scheduled in. One that was given a bad name is lost.
  struct Host {
    bool of_gpu;
    bool lost = false;
    std::size_t metrics = 0;
  };

  static FakeCounters*& self() {
    static FakeCounters* instance = nullptr;
    return instance;
  }

  template <typename Params>
  CUptiResult enter(const char* function, CUptiResult (FakeCounters::*method)(Params&),
                    Params* params) {
    const auto failure = failures.find(function);
    return failure == failures.end() ? (this->*method)(*params) : failure->second;
  }

  CUptiResult note(const char* call) { return calls.emplace_back(call), CUPTI_SUCCESS; }

  template <typename Object>
  static Host* host_of(Object* object) {
    return reinterpret_cast<Host*>(object);
  }

  // ---- the host half ----

  CUptiResult list_chips(CUpti_Profiler_Host_GetSupportedChips_Params& params) {
    names_.clear();
    for (const std::string& name : chips) names_.push_back(name.c_str());
    params.numChips = names_.size();
    params.ppChipNames = names_.data();
    return CUPTI_SUCCESS;
  }
  CUptiResult open_host(CUpti_Profiler_Host_Initialize_Params& params) {
    ++hosts_alive;
    Host* const host = new Host{params.pCounterAvailabilityImage != nullptr};
    params.pHostObject = reinterpret_cast<CUpti_Profiler_Host_Object*>(host);
    return CUPTI_SUCCESS;
  }
  CUptiResult close_host(CUpti_Profiler_Host_Deinitialize_Params& params) {
    --hosts_alive;
    delete host_of(params.pHostObject);
    return CUPTI_SUCCESS;
  }
  CUptiResult list_metrics(CUpti_Profiler_Host_GetBaseMetrics_Params& params) {
    names_.clear();
    for (const auto& [name, value] : metrics) names_.push_back(name.c_str());
    params.numMetrics = names_.size();
    params.ppMetricNames = names_.data();
    return CUPTI_SUCCESS;
  }
  CUptiResult describe(CUpti_Profiler_Host_GetMetricProperties_Params& params) {
    if (!metrics.contains(params.pMetricName)) return CUPTI_ERROR_INVALID_METRIC_NAME;
    params.pDescription = "what it says";
    return CUPTI_SUCCESS;
  }
  CUptiResult add_metrics(CUpti_Profiler_Host_ConfigAddMetrics_Params& params) {
    Host& host = *host_of(params.pHostObject);
    for (std::size_t i = 0; i < params.numMetrics; ++i) {
      const std::string name = params.ppMetricNames[i];
      const bool missing = std::ranges::find(unavailable, name) != unavailable.end();
      host.lost = host.lost || !metrics.contains(name) || (host.of_gpu && missing);
    }
    host.metrics += params.numMetrics;
    return host.lost ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
  }
  CUptiResult size_image(CUpti_Profiler_Host_GetConfigImageSize_Params& params) {
    params.configImageSize = host_of(params.pHostObject)->metrics;
    return CUPTI_SUCCESS;
  }
  CUptiResult make_image(CUpti_Profiler_Host_GetConfigImage_Params& params) {
    std::memset(params.pConfigImage, 1, params.configImageSize);
    return CUPTI_SUCCESS;
  }
  CUptiResult plan_passes(CUpti_Profiler_Host_GetNumOfPasses_Params& params) {
    params.numOfPasses = passes;
    return CUPTI_SUCCESS;
  }
  CUptiResult evaluate(CUpti_Profiler_Host_EvaluateToGpuValues_Params& params) {
    for (std::size_t i = 0; i < params.numMetrics; ++i) {
      params.pMetricValues[i] = metrics.at(params.ppMetricNames[i]);
    }
    return note("Evaluate");
  }

  // ---- the target half ----

  CUptiResult initialize(CUpti_Profiler_Initialize_Params&) {
    initialized = true;
    return note("Initialize");
  }
  CUptiResult deinitialize(CUpti_Profiler_DeInitialize_Params&) {
    initialized = false;
    return note("DeInitialize");
  }
  CUptiResult name_chip(CUpti_Device_GetChipName_Params& params) {
    params.pChipName = chip.c_str();
    return note("ChipName");
  }
  CUptiResult give_availability(CUpti_Profiler_GetCounterAvailability_Params& params) {
    params.counterAvailabilityImageSize = 16;
    return note("Availability");
  }
  CUptiResult enable(CUpti_RangeProfiler_Enable_Params& params) {
    ++enabled;
    starts_ = 0;
    params.pRangeProfilerObject = reinterpret_cast<CUpti_RangeProfiler_Object*>(this);
    return note("Enable");
  }
  CUptiResult disable(CUpti_RangeProfiler_Disable_Params&) {
    --enabled;
    return note("Disable");
  }
  CUptiResult size_data(CUpti_RangeProfiler_GetCounterDataSize_Params& params) {
    params.counterDataSize = kDataBytes;
    return note("DataSize");
  }
  CUptiResult make_data(CUpti_RangeProfiler_CounterDataImage_Initialize_Params& params) {
    std::memset(params.pCounterData, 1, params.counterDataSize);
    return note("DataInitialize");
  }
  CUptiResult configure(CUpti_RangeProfiler_SetConfig_Params& params) {
    const bool right = params.range == CUPTI_UserRange && params.replayMode == CUPTI_UserReplay &&
                       params.maxRangesPerPass == 1 && params.numNestingLevels == 1 &&
                       params.configSize > 0 && params.counterDataImageSize == kDataBytes;
    return right ? note("SetConfig") : CUPTI_ERROR_INVALID_PARAMETER;
  }
  CUptiResult start(CUpti_RangeProfiler_Start_Params&) {
    ++starts_;
    return note("Start");
  }
  CUptiResult push(CUpti_RangeProfiler_PushRange_Params&) { return note("PushRange"); }
  CUptiResult pop(CUpti_RangeProfiler_PopRange_Params&) { return note("PopRange"); }
  CUptiResult stop(CUpti_RangeProfiler_Stop_Params& params) {
    params.isAllPassSubmitted = starts_ >= (passes_wanted > 0 ? passes_wanted : passes) ? 1 : 0;
    return note("Stop");
  }
  CUptiResult decode(CUpti_RangeProfiler_DecodeData_Params& params) {
    params.numOfRangeDropped = dropped;
    return note("Decode");
  }
  CUptiResult inform(CUpti_RangeProfiler_GetCounterDataInfo_Params& params) {
    params.numTotalRanges = ranges;
    return note("DataInfo");
  }

  static FakeLoader::Symbols symbols();

  static constexpr std::size_t kDataBytes = 64;

  std::vector<const char*> names_;
  std::size_t starts_ = 0;
};

inline FakeLoader::Symbols FakeCounters::symbols() {
  FakeLoader::Symbols table;
  const auto put = [&table]<typename Params>(const char* name, CUptiResult (*function)(Params*)) {
    table[name] = as_symbol(function);
  };
#define MGTUNE_FAKE(function, Params, method)                                   \
  put(                                                                          \
      #function, +[](Params* params) {                                          \
        return self()->enter<Params>(#function, &FakeCounters::method, params); \
      });
  MGTUNE_FAKE(cuptiProfilerHostGetSupportedChips, CUpti_Profiler_Host_GetSupportedChips_Params,
              list_chips)
  MGTUNE_FAKE(cuptiProfilerHostInitialize, CUpti_Profiler_Host_Initialize_Params, open_host)
  MGTUNE_FAKE(cuptiProfilerHostDeinitialize, CUpti_Profiler_Host_Deinitialize_Params, close_host)
  MGTUNE_FAKE(cuptiProfilerHostGetBaseMetrics, CUpti_Profiler_Host_GetBaseMetrics_Params,
              list_metrics)
  MGTUNE_FAKE(cuptiProfilerHostGetMetricProperties, CUpti_Profiler_Host_GetMetricProperties_Params,
              describe)
  MGTUNE_FAKE(cuptiProfilerHostConfigAddMetrics, CUpti_Profiler_Host_ConfigAddMetrics_Params,
              add_metrics)
  MGTUNE_FAKE(cuptiProfilerHostGetConfigImageSize, CUpti_Profiler_Host_GetConfigImageSize_Params,
              size_image)
  MGTUNE_FAKE(cuptiProfilerHostGetConfigImage, CUpti_Profiler_Host_GetConfigImage_Params,
              make_image)
  MGTUNE_FAKE(cuptiProfilerHostGetNumOfPasses, CUpti_Profiler_Host_GetNumOfPasses_Params,
              plan_passes)
  MGTUNE_FAKE(cuptiProfilerHostEvaluateToGpuValues, CUpti_Profiler_Host_EvaluateToGpuValues_Params,
              evaluate)
  MGTUNE_FAKE(cuptiProfilerInitialize, CUpti_Profiler_Initialize_Params, initialize)
  MGTUNE_FAKE(cuptiProfilerDeInitialize, CUpti_Profiler_DeInitialize_Params, deinitialize)
  MGTUNE_FAKE(cuptiDeviceGetChipName, CUpti_Device_GetChipName_Params, name_chip)
  MGTUNE_FAKE(cuptiProfilerGetCounterAvailability, CUpti_Profiler_GetCounterAvailability_Params,
              give_availability)
  MGTUNE_FAKE(cuptiRangeProfilerEnable, CUpti_RangeProfiler_Enable_Params, enable)
  MGTUNE_FAKE(cuptiRangeProfilerDisable, CUpti_RangeProfiler_Disable_Params, disable)
  MGTUNE_FAKE(cuptiRangeProfilerGetCounterDataSize, CUpti_RangeProfiler_GetCounterDataSize_Params,
              size_data)
  MGTUNE_FAKE(cuptiRangeProfilerCounterDataImageInitialize,
              CUpti_RangeProfiler_CounterDataImage_Initialize_Params, make_data)
  MGTUNE_FAKE(cuptiRangeProfilerSetConfig, CUpti_RangeProfiler_SetConfig_Params, configure)
  MGTUNE_FAKE(cuptiRangeProfilerStart, CUpti_RangeProfiler_Start_Params, start)
  MGTUNE_FAKE(cuptiRangeProfilerPushRange, CUpti_RangeProfiler_PushRange_Params, push)
  MGTUNE_FAKE(cuptiRangeProfilerPopRange, CUpti_RangeProfiler_PopRange_Params, pop)
  MGTUNE_FAKE(cuptiRangeProfilerStop, CUpti_RangeProfiler_Stop_Params, stop)
  MGTUNE_FAKE(cuptiRangeProfilerDecodeData, CUpti_RangeProfiler_DecodeData_Params, decode)
  MGTUNE_FAKE(cuptiRangeProfilerGetCounterDataInfo, CUpti_RangeProfiler_GetCounterDataInfo_Params,
              inform)
#undef MGTUNE_FAKE
  return table;
}

}  // namespace mgtune

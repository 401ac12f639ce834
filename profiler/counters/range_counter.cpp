#include "counters/range_counter.h"

#include <utility>

namespace mgtune {
namespace {

constexpr char kRangeName[] = "launches";
constexpr std::size_t kRanges = 1;

// The profiler, enabled on a context. While the object lives, the GPU's counters belong to this
// process. There is one per list of metrics, because a second configuration on an enabled profiler
// fails.
class Session {
 public:
  static Result<Session> enable(const CounterLibrary& library, CUcontext context) {
    auto params = MGTUNE_COUNTER_PARAMS(CUpti_RangeProfiler_Enable_Params);
    params.ctx = context;
    MGTUNE_TRY(library.status(library.cuptiRangeProfilerEnable(&params),
                              "enabling the hardware counters"));
    return Session(library, params.pRangeProfilerObject);
  }

  // Makes `counter_data`, which must not move until decode().
  Status configure(const MetricConfig& config, std::span<const std::string> metrics,
                   std::vector<std::uint8_t>& counter_data);
  Result<bool> run_pass(const CountedWork& work);  // whether it was the last
  Status decode(std::span<const std::uint8_t> counter_data);

 private:
  struct Disable {
    decltype(&::cuptiRangeProfilerDisable) function;
    void operator()(CUpti_RangeProfiler_Object* profiler) const {
      auto params = MGTUNE_COUNTER_PARAMS(CUpti_RangeProfiler_Disable_Params);
      params.pRangeProfilerObject = profiler;
      function(&params);
    }
  };

  Session(const CounterLibrary& library, CUpti_RangeProfiler_Object* profiler)
      : library_(&library), profiler_(profiler, {library.cuptiRangeProfilerDisable}) {}

  const CounterLibrary* library_;
  std::unique_ptr<CUpti_RangeProfiler_Object, Disable> profiler_;
};

Status Session::configure(const MetricConfig& config, std::span<const std::string> metrics,
                          std::vector<std::uint8_t>& counter_data) {
  std::vector<const char*> names;
  for (const std::string& metric : metrics) names.push_back(metric.c_str());
  auto size = MGTUNE_COUNTER_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params);
  size.pRangeProfilerObject = profiler_.get();
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxNumOfRanges = kRanges;
  size.maxNumRangeTreeNodes = kRanges;
  MGTUNE_TRY(library_->status(library_->cuptiRangeProfilerGetCounterDataSize(&size),
                              "sizing the counters' data"));

  counter_data.assign(size.counterDataSize, 0);
  auto initialize = MGTUNE_COUNTER_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
  initialize.pRangeProfilerObject = profiler_.get();
  initialize.counterDataSize = counter_data.size();
  initialize.pCounterData = counter_data.data();
  MGTUNE_TRY(library_->status(library_->cuptiRangeProfilerCounterDataImageInitialize(&initialize),
                              "preparing the counters' data"));

  auto configure = MGTUNE_COUNTER_PARAMS(CUpti_RangeProfiler_SetConfig_Params);
  configure.pRangeProfilerObject = profiler_.get();
  configure.configSize = config.image.size();
  configure.pConfig = config.image.data();
  configure.counterDataImageSize = counter_data.size();
  configure.pCounterDataImage = counter_data.data();
  configure.range = CUPTI_UserRange;
  configure.replayMode = CUPTI_UserReplay;
  configure.maxRangesPerPass = kRanges;
  configure.numNestingLevels = 1;
  configure.minNestingLevel = 1;
  configure.targetNestingLevel = 1;
  return library_->status(library_->cuptiRangeProfilerSetConfig(&configure),
                          "configuring the hardware counters");
}

Result<bool> Session::run_pass(const CountedWork& work) {
  auto start = MGTUNE_COUNTER_PARAMS(CUpti_RangeProfiler_Start_Params);
  start.pRangeProfilerObject = profiler_.get();
  MGTUNE_TRY(library_->status(library_->cuptiRangeProfilerStart(&start), "starting to count"));

  auto push = MGTUNE_COUNTER_PARAMS(CUpti_RangeProfiler_PushRange_Params);
  push.pRangeProfilerObject = profiler_.get();
  push.pRangeName = kRangeName;
  MGTUNE_TRY(library_->status(library_->cuptiRangeProfilerPushRange(&push), "opening the range"));

  // The range ends even after a failure, because a session with an open range cannot be disabled
  // cleanly.
  Status worked = work();
  auto pop = MGTUNE_COUNTER_PARAMS(CUpti_RangeProfiler_PopRange_Params);
  pop.pRangeProfilerObject = profiler_.get();
  const CUptiResult popped = library_->cuptiRangeProfilerPopRange(&pop);
  auto stop = MGTUNE_COUNTER_PARAMS(CUpti_RangeProfiler_Stop_Params);
  stop.pRangeProfilerObject = profiler_.get();
  const CUptiResult stopped = library_->cuptiRangeProfilerStop(&stop);
  MGTUNE_TRY(std::move(worked));
  MGTUNE_TRY(library_->status(popped, "closing the range"));
  MGTUNE_TRY(library_->status(stopped, "ending a pass of the counters"));
  return stop.isAllPassSubmitted != 0;
}

Status Session::decode(std::span<const std::uint8_t> counter_data) {
  auto decode = MGTUNE_COUNTER_PARAMS(CUpti_RangeProfiler_DecodeData_Params);
  decode.pRangeProfilerObject = profiler_.get();
  MGTUNE_TRY(library_->status(library_->cuptiRangeProfilerDecodeData(&decode),
                              "reading the hardware counters"));
  auto info = MGTUNE_COUNTER_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params);
  info.pCounterDataImage = counter_data.data();
  info.counterDataImageSize = counter_data.size();
  MGTUNE_TRY(library_->status(library_->cuptiRangeProfilerGetCounterDataInfo(&info),
                              "reading the counters' data"));
  if (decode.numOfRangeDropped == 0 && info.numTotalRanges == kRanges) return {};
  return environment_error("CUPTI counted " + std::to_string(info.numTotalRanges) + " of " +
                           std::to_string(kRanges) + " ranges and dropped " +
                           std::to_string(decode.numOfRangeDropped));
}

}  // namespace

Result<std::unique_ptr<RangeCounter>> RangeCounter::make(const CounterLibrary& library,
                                                         CUcontext context, int index) {
  // This comes first: asking a profiler that is not initialized for the chip ends the process.
  auto initialize = MGTUNE_COUNTER_PARAMS(CUpti_Profiler_Initialize_Params);
  MGTUNE_TRY(library.status(library.cuptiProfilerInitialize(&initialize),
                            "initializing the hardware counters"));
  std::unique_ptr<RangeCounter> counter(new RangeCounter(library, context));

  auto chip = MGTUNE_COUNTER_PARAMS(CUpti_Device_GetChipName_Params);
  chip.deviceIndex = static_cast<std::size_t>(index);
  MGTUNE_TRY(library.status(library.cuptiDeviceGetChipName(&chip), "asking for the GPU's chip"));

  // The first call that fails without privilege; enabling and configuring may succeed.
  auto available = MGTUNE_COUNTER_PARAMS(CUpti_Profiler_GetCounterAvailability_Params);
  available.ctx = context;
  MGTUNE_TRY(library.status(library.cuptiProfilerGetCounterAvailability(&available),
                            "asking which hardware counters there are"));
  std::vector<std::uint8_t> image(available.counterAvailabilityImageSize);
  available.pCounterAvailabilityImage = image.data();
  MGTUNE_TRY(library.status(library.cuptiProfilerGetCounterAvailability(&available),
                            "asking which hardware counters there are"));

  Result<MetricHost> host = MetricHost::open(library, chip.pChipName, std::move(image));
  if (host.status().code() == StatusCode::invalid_argument) {  // a chip newer than this CUPTI
    return environment_error("CUPTI at " + library.cupti.path + ": " + host.status().message());
  }
  if (!host.ok()) return std::move(host).take_status();
  counter->host_ = std::make_unique<MetricHost>(*std::move(host));
  return counter;
}

RangeCounter::~RangeCounter() {
  auto params = MGTUNE_COUNTER_PARAMS(CUpti_Profiler_DeInitialize_Params);
  library_.cuptiProfilerDeInitialize(&params);
}

Result<std::vector<double>> RangeCounter::count(const MetricConfig& config,
                                                std::span<const std::string> metrics,
                                                const CountedWork& work) {
  std::vector<std::uint8_t> counter_data;  // the session writes to it
  {
    MGTUNE_ASSIGN(Session session, Session::enable(library_, context_));
    MGTUNE_TRY(session.configure(config, metrics, counter_data));
    bool done = false;
    for (std::int64_t pass = 0; pass < config.passes && !done; ++pass) {
      MGTUNE_ASSIGN(done, session.run_pass(work));
    }
    if (!done) {
      return environment_error("CUPTI wants more than the " + std::to_string(config.passes) +
                               " passes that it planned");
    }
    MGTUNE_TRY(session.decode(counter_data));
  }
  return host_->evaluate(counter_data, metrics);
}

}  // namespace mgtune

#include "counters/metric_host.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/text.h"

namespace mgtune {
namespace {

std::vector<const char*> c_strings(std::span<const std::string> words) {
  std::vector<const char*> pointers;
  pointers.reserve(words.size());
  for (const std::string& word : words) pointers.push_back(word.c_str());
  return pointers;
}

std::string text_or_nothing(const char* text) { return text == nullptr ? "" : text; }

// Every chip that this CUPTI knows, in its order.
Result<std::vector<std::string>> supported_chips(const CounterLibrary& library) {
  auto params = MGTUNE_COUNTER_PARAMS(CUpti_Profiler_Host_GetSupportedChips_Params);
  MGTUNE_TRY(library.status(library.cuptiProfilerHostGetSupportedChips(&params),
                            "asking CUPTI for the chips it knows"));
  return std::vector<std::string>(params.ppChipNames, params.ppChipNames + params.numChips);
}

Status unknown_chip(const std::string& chip, const std::vector<std::string>& chips) {
  std::string message = "unknown chip '" + chip + "'" + did_you_mean(chip, chips) + "\nThere are:";
  for (const std::string& known : chips) message += " " + known;
  return invalid_argument(std::move(message));
}

}  // namespace

void MetricHost::Deinitialize::operator()(CUpti_Profiler_Host_Object* host) const {
  auto params = MGTUNE_COUNTER_PARAMS(CUpti_Profiler_Host_Deinitialize_Params);
  params.pHostObject = host;
  function(&params);
}

Result<MetricHost::Handle> MetricHost::make_handle() const {
  auto params = MGTUNE_COUNTER_PARAMS(CUpti_Profiler_Host_Initialize_Params);
  params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  params.pChipName = chip_.c_str();
  params.pCounterAvailabilityImage = availability_.empty() ? nullptr : availability_.data();
  const CUptiResult result = library_.cuptiProfilerHostInitialize(&params);
  MGTUNE_TRY(library_.status(result, "reading what the chip can count").with_context(chip_));
  return Handle(params.pHostObject, {library_.cuptiProfilerHostDeinitialize});
}

Result<MetricHost> MetricHost::open(const CounterLibrary& library, const std::string& chip,
                                    std::vector<std::uint8_t> availability) {
  MGTUNE_ASSIGN(const std::vector<std::string> chips, supported_chips(library));
  if (std::ranges::find(chips, chip) == chips.end()) return unknown_chip(chip, chips);
  MetricHost host(library);
  host.chip_ = chip;
  host.availability_ = std::move(availability);
  MGTUNE_ASSIGN(host.handle_, host.make_handle());
  return host;
}

Result<std::vector<std::string>> MetricHost::base_metrics() const {
  std::set<std::string> names;
  for (int type = 0; type < CUPTI_METRIC_TYPE__COUNT; ++type) {
    auto params = MGTUNE_COUNTER_PARAMS(CUpti_Profiler_Host_GetBaseMetrics_Params);
    params.pHostObject = handle_.get();
    params.metricType = static_cast<CUpti_MetricType>(type);
    MGTUNE_TRY(library_.status(library_.cuptiProfilerHostGetBaseMetrics(&params),
                               "listing the chip's metrics"));
    names.insert(params.ppMetricNames, params.ppMetricNames + params.numMetrics);
  }
  return std::vector<std::string>(names.begin(), names.end());
}

Result<MetricText> MetricHost::describe(const std::string& metric) const {
  auto params = MGTUNE_COUNTER_PARAMS(CUpti_Profiler_Host_GetMetricProperties_Params);
  params.pHostObject = handle_.get();
  params.pMetricName = metric.c_str();
  const CUptiResult result = library_.cuptiProfilerHostGetMetricProperties(&params);
  if (result == CUPTI_ERROR_INVALID_METRIC_NAME) {
    return not_found(chip_ + " has no metric " + metric);
  }
  MGTUNE_TRY(library_.status(result, "describing a metric"));
  return MetricText{text_or_nothing(params.pDescription), text_or_nothing(params.pDimUnit)};
}

bool MetricHost::can_count(const std::string& metric) const {
  // The chip may have the name although this GPU does not have its counters.
  return describe(metric).ok() && schedule(std::span(&metric, 1)).ok();
}

Result<MetricConfig> MetricHost::schedule(std::span<const std::string> metrics) const {
  // A new object each time: it keeps what it was given, and after a bad name it is unusable.
  MGTUNE_ASSIGN(const Handle host, make_handle());
  std::vector<const char*> names = c_strings(metrics);
  auto add = MGTUNE_COUNTER_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params);
  add.pHostObject = host.get();
  add.ppMetricNames = names.data();
  add.numMetrics = names.size();
  MGTUNE_TRY(library_.status(library_.cuptiProfilerHostConfigAddMetrics(&add),
                             "choosing the metrics to count"));

  auto size = MGTUNE_COUNTER_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params);
  size.pHostObject = host.get();
  MGTUNE_TRY(library_.status(library_.cuptiProfilerHostGetConfigImageSize(&size),
                             "sizing the counters' configuration"));
  MetricConfig config;
  config.image.resize(size.configImageSize);
  auto image = MGTUNE_COUNTER_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params);
  image.pHostObject = host.get();
  image.configImageSize = config.image.size();
  image.pConfigImage = config.image.data();
  MGTUNE_TRY(library_.status(library_.cuptiProfilerHostGetConfigImage(&image),
                             "making the counters' configuration"));

  auto passes = MGTUNE_COUNTER_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params);
  passes.configImageSize = config.image.size();
  passes.pConfigImage = config.image.data();
  MGTUNE_TRY(library_.status(library_.cuptiProfilerHostGetNumOfPasses(&passes),
                             "planning the passes of the counters"));
  config.passes = static_cast<std::int64_t>(passes.numOfPasses);
  return config;
}

Result<std::vector<double>> MetricHost::evaluate(std::span<const std::uint8_t> counter_data,
                                                 std::span<const std::string> metrics) const {
  std::vector<const char*> names = c_strings(metrics);
  std::vector<double> values(metrics.size());
  auto params = MGTUNE_COUNTER_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
  params.pHostObject = handle_.get();
  params.pCounterDataImage = counter_data.data();
  params.counterDataImageSize = counter_data.size();
  params.ppMetricNames = names.data();
  params.numMetrics = names.size();
  params.pMetricValues = values.data();
  MGTUNE_TRY(library_.status(library_.cuptiProfilerHostEvaluateToGpuValues(&params),
                             "evaluating the counters"));
  return values;
}

}  // namespace mgtune

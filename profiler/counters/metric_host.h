// MetricHost: which metrics a chip can count, and in how many passes: the host part of CUPTI's
// Range Profiler. It needs neither a GPU nor a driver, so lists of metrics can be checked on any
// machine.
//
// CUPTI calls the silicon of a GPU a chip: an H100 and an H200 both have the chip "GH100". The name
// of a metric is a base name followed by a rollup, which says how the values of all units are
// combined: "dram__bytes_read" + ".sum". Move-only; one thread at a time.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "counters/counter_library.h"

namespace mgtune {

struct MetricText {
  std::string description;  // CUPTI's: "# of bytes read from DRAM"
  std::string unit;         // "byte"
};

// The configuration that tells a GPU to count some metrics.
struct MetricConfig {
  std::vector<std::uint8_t> image;
  std::int64_t passes = 0;  // how often the same work must run
};

class MetricHost {
 public:
  // `availability` comes from a GPU (range_counter.h). It says which metrics of the chip this GPU
  // can count. If it is empty, all metrics of the chip count as available. invalid_argument, with a
  // list of chips, if CUPTI does not know the chip.
  static Result<MetricHost> open(const CounterLibrary& library, const std::string& chip,
                                 std::vector<std::uint8_t> availability = {});

  const std::string& chip() const { return chip_; }

  Result<std::vector<std::string>> base_metrics() const;  // sorted, no duplicates

  // Describes a base name or a metric. not_found if the chip does not have it.
  Result<MetricText> describe(const std::string& metric) const;

  // Whether schedule() accepts the metric. This takes 2 ms, because it calls schedule().
  bool can_count(const std::string& metric) const;

  // Makes the configuration that counts all of these metrics. They are given to CUPTI in one list:
  // CUPTI would plan a separate pass for each metric that is added alone.
  Result<MetricConfig> schedule(std::span<const std::string> metrics) const;

  // The values of the metrics, in their order. `counter_data` is a counter data image with one
  // range. A metric that is a ratio is NaN if its denominator is 0.
  Result<std::vector<double>> evaluate(std::span<const std::uint8_t> counter_data,
                                       std::span<const std::string> metrics) const;

 private:
  struct Deinitialize {
    decltype(&::cuptiProfilerHostDeinitialize) function;
    void operator()(CUpti_Profiler_Host_Object* host) const;
  };
  using Handle = std::unique_ptr<CUpti_Profiler_Host_Object, Deinitialize>;

  explicit MetricHost(const CounterLibrary& library) : library_(library) {}
  Result<Handle> make_handle() const;

  CounterLibrary library_;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  Handle handle_;
};

}  // namespace mgtune

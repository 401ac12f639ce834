// MetricHost: what a chip can count, and in how many passes: the host half of CUPTI's Range
// Profiler. Needs neither a GPU nor a driver, so that lists of metrics are checked anywhere.
//
// A chip is CUPTI's word for a GPU's silicon ("GH100" in an H100 and an H200). A metric is a base
// name with a rollup behind it: "dram__bytes_read" + ".sum". Move-only; one thread at a time.

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

// How a GPU is told to count some metrics.
struct MetricConfig {
  std::vector<std::uint8_t> image;
  std::int64_t passes = 0;  // the same work has to run this often
};

// Every chip that this CUPTI knows, in its order.
Result<std::vector<std::string>> supported_chips(const CounterLibrary& library);

class MetricHost {
 public:
  // `availability` comes from a GPU (range_counter.h): what it lacks is then not counted. Without
  // one every metric of the chip is there. invalid_argument, with the chips there are, for a chip
  // that CUPTI does not know.
  static Result<MetricHost> open(const CounterLibrary& library, const std::string& chip,
                                 std::vector<std::uint8_t> availability = {});

  const std::string& chip() const { return chip_; }

  Result<std::vector<std::string>> base_metrics() const;  // sorted, each once

  // Of a base name or a metric; not_found when the chip has none of that name.
  Result<MetricText> describe(const std::string& metric) const;

  // Whether schedule() takes it. Tries it: 2 ms.
  bool can_count(const std::string& metric) const;

  // All in one: metrics that are added one by one get passes of their own.
  Result<MetricConfig> schedule(std::span<const std::string> metrics) const;

  // The metrics' values in the one range of a counter data image. Not a number where there was
  // nothing to divide by.
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

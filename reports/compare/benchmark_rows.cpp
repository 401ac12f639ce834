#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>

#include "compare/readers.h"

namespace mgtune {
namespace {

// The combined entries of one name.
struct Benchmark {
  std::string name;
  std::vector<double> times_ns;                         // of the repetitions
  double median_ns = 0, mean_ns = 0, deviation_ns = 0;  // of the aggregates; 0: not there
  double repetitions = 0;
  std::string error;
};

// The name says it if the benchmark chose: /real_time, /manual_time. Otherwise it is the CPU time,
// which also determined the number of iterations.
std::string_view method_of(std::string_view name) {
  if (name.find("/manual_time") != std::string_view::npos) return "manual time";
  return name.find("/real_time") != std::string_view::npos ? "real time" : "cpu time";
}

Result<double> time_at(const JsonCursor& entry, std::string_view name) {
  const std::string_view key = method_of(name) == "cpu time" ? "cpu_time" : "real_time";
  MGTUNE_ASSIGN(const JsonCursor time, member_at(entry, key));
  MGTUNE_ASSIGN(const double number, time.number());
  if (number < 0) return time.unexpected("a time that is not negative");
  const std::optional<JsonCursor> unit = entry.find("time_unit");
  if (!unit) return number;
  static constexpr std::array<double, 4> kUnits = {1, 1e3, 1e6, 1e9};
  MGTUNE_ASSIGN(const std::size_t index, unit->choice({"ns", "us", "ms", "s"}));
  return number * kUnits[index];
}

Status add_aggregate(const JsonCursor& entry, Benchmark& benchmark) {
  std::string what;
  MGTUNE_TRY(entry.read("aggregate_name", what));
  double* place = what == "median"   ? &benchmark.median_ns
                  : what == "mean"   ? &benchmark.mean_ns
                  : what == "stddev" ? &benchmark.deviation_ns
                                     : nullptr;
  if (place == nullptr) return {};  // cv, big O, user statistics
  MGTUNE_ASSIGN(*place, time_at(entry, benchmark.name));
  if (const auto repetitions = entry.find("repetitions")) {
    MGTUNE_ASSIGN(benchmark.repetitions, repetitions->number());
  }
  return {};
}

// In the order of the file.
struct Benchmarks {
  std::vector<Benchmark> all;
  std::map<std::string, std::size_t> index;  // by name
};

Status add_entry(const JsonCursor& entry, Benchmarks& benchmarks) {
  std::string name, type;
  bool failed = false, skipped = false;
  MGTUNE_TRY(entry.read("run_name", name));
  if (name.empty()) MGTUNE_TRY(entry.read("name", name));  // before Google Benchmark 1.5
  if (name.empty()) return entry.error("has no \"name\"");
  const auto [place, is_new] = benchmarks.index.try_emplace(name, benchmarks.all.size());
  if (is_new) benchmarks.all.emplace_back().name = name;
  Benchmark& benchmark = benchmarks.all[place->second];
  MGTUNE_TRY(entry.read("error_occurred", failed));
  MGTUNE_TRY(entry.read("skipped", skipped));
  if (failed || skipped) {
    MGTUNE_TRY(entry.read(failed ? "error_message" : "skip_message", benchmark.error));
    if (benchmark.error.empty()) benchmark.error = failed ? "failed" : "skipped";
    return {};
  }
  MGTUNE_TRY(entry.read("run_type", type));
  if (type == "aggregate") return add_aggregate(entry, benchmark);
  MGTUNE_ASSIGN(const double time_ns, time_at(entry, name));
  benchmark.times_ns.push_back(time_ns);
  return {};
}

// 97.5 % of Student's t is below this, to 1 %.
double student(double degrees) {
  static constexpr std::array<double, 10> kFew = {12.71, 4.303, 3.182, 2.776, 2.571,
                                                  2.447, 2.365, 2.306, 2.262, 2.228};
  const auto index = static_cast<std::size_t>(degrees) - 1;
  return index < kFew.size() ? kFew[index] : 1.96 + 2.5 / degrees;
}

// The standard error of the median is 1.2533 times that of the mean.
TimeEstimate estimate(double median_ns, double deviation_ns, double repetitions) {
  TimeEstimate time{median_ns};
  if (repetitions < 2) return time;  // nothing known of its interval
  const double half = 1.2533 * student(repetitions - 1) * deviation_ns / std::sqrt(repetitions);
  time.low_ns = std::max(0.0, median_ns - half);
  time.high_ns = median_ns + half;
  return time;
}

double median_of(std::vector<double>& values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

TimeEstimate summarise_repetitions(std::vector<double> times_ns) {
  const auto count = static_cast<double>(times_ns.size());
  const double median = median_of(times_ns);
  const double mean = std::accumulate(times_ns.begin(), times_ns.end(), 0.0) / count;
  double squares = 0;
  for (const double time : times_ns) squares += (time - mean) * (time - mean);
  return estimate(median, count < 2 ? 0 : std::sqrt(squares / (count - 1)), count);
}

TimeEstimate summarise_benchmark(const Benchmark& benchmark) {
  if (!benchmark.times_ns.empty()) return summarise_repetitions(benchmark.times_ns);
  const double center = benchmark.median_ns > 0 ? benchmark.median_ns : benchmark.mean_ns;
  return estimate(center, benchmark.deviation_ns, benchmark.repetitions);
}

}  // namespace

// If a host has more to do than it has CPUs, a whole process may run 50 % slower than the next one.
constexpr double kNoiseFloorOfBusyHost = 0.25;

Result<bool> was_busy(const JsonCursor& context) {
  const std::optional<JsonCursor> loads = context.find("load_avg");
  const std::optional<JsonCursor> cpus = context.find("num_cpus");
  if (!loads || !cpus) return false;
  MGTUNE_ASSIGN(const std::vector<JsonCursor> averages, loads->elements());
  if (averages.empty()) return false;
  MGTUNE_ASSIGN(const double load, averages.front().number());
  MGTUNE_ASSIGN(const double count, cpus->number());
  return load > count;
}

Status read_benchmarks(const JsonCursor& document, MeasuredTable& table) {
  table.kind = "Google Benchmark";
  bool busy = false;
  if (const std::optional<JsonCursor> context = document.find("context")) {
    MGTUNE_TRY(context->read("host_name", table.host));
    MGTUNE_ASSIGN(busy, was_busy(*context));
  }
  if (busy) {
    table.caution = table.file +
                    " was recorded on a host with more to do than it has CPUs: "
                    "differences count from 50 % on";
  }
  Benchmarks benchmarks;
  MGTUNE_ASSIGN(const std::vector<JsonCursor> entries, document.at("benchmarks").elements());
  for (const JsonCursor& entry : entries) MGTUNE_TRY(add_entry(entry, benchmarks));
  for (const Benchmark& benchmark : benchmarks.all) {
    RowName row;
    row.variant = benchmark.name;
    row.device = "host";
    row.method = method_of(benchmark.name);
    TimeEstimate time = benchmark.error.empty() ? summarise_benchmark(benchmark) : TimeEstimate{};
    if (busy) time.noise_floor = kNoiseFloorOfBusyHost;
    if (time.median_ns > 0) {
      std::vector<double> figures = benchmark.times_ns;
      figures.insert(figures.end(),
                     {benchmark.median_ns, benchmark.mean_ns, benchmark.deviation_ns});
      table.rows.push_back({row, time, Clock::host, std::move(figures), true});
    } else {
      table.untimed.push_back(
          {row, benchmark.error.empty() ? std::string(kNoTime) : benchmark.error});
    }
  }
  return {};
}

}  // namespace mgtune

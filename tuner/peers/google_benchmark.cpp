// What Google Benchmark writes with --benchmark_format=json: {"context": {...}, "benchmarks":
// [{"name", "run_name", "run_type", "aggregate_name", "real_time", "time_unit"}]}.
//
// The name says what was timed (benchmark_name.h). The time is "real_time". If the program uses
// manual time, as programs that launch kernels should, this is the time that the program measured
// itself. If there are several repetitions, it is their median. The context may have "gpu",
// "driver", "cuda" and "framework", which AddCustomContext() puts there.

#include <algorithm>
#include <map>
#include <vector>

#include "peers/benchmark_name.h"
#include "peers/peer_context.h"
#include "peers/peer_forms.h"

namespace mgtune {
namespace {

// The repetitions of one benchmark, and its aggregates.
struct Repetitions {
  std::vector<double> times_ns;
  double median_ns = 0, stddev_ns = 0;  // 0: there is no such aggregate
  std::int64_t repetitions = 0;
  const JsonCursor* first = nullptr;
};

Result<double> google_time(const JsonCursor& row) {
  const std::optional<JsonCursor> time = row.find("real_time");
  if (!time) return row.error("there is no \"real_time\"");
  std::string unit = "ns";  // Google Benchmark's default
  MGTUNE_TRY(row.read("time_unit", unit));
  MGTUNE_ASSIGN(const double value, time->number());
  if (nanoseconds(1, unit) == 0) return row.at("time_unit").unexpected("ns, us, ms or s");
  return nanoseconds(value, unit);
}

Status read_repetition(const JsonCursor& row, Repetitions& out) {
  MGTUNE_TRY(row.read("repetitions", out.repetitions));
  std::string aggregate;
  MGTUNE_TRY(row.read("aggregate_name", aggregate));
  if (aggregate == "cv") return {};  // a ratio, also in "real_time"
  MGTUNE_ASSIGN(const double time_ns, google_time(row));
  if (aggregate.empty()) out.times_ns.push_back(time_ns);
  if (aggregate == "median") out.median_ns = time_ns;
  if (aggregate == "stddev") out.stddev_ns = time_ns;
  return {};
}

void set_time(Repetitions& runs, PeerRecord& peer) {
  std::vector<double>& times = runs.times_ns;
  std::ranges::sort(times);
  peer.samples = std::max<std::int64_t>(runs.repetitions, std::ssize(times));
  if (runs.median_ns > 0) {
    peer.median_ns = runs.median_ns;
  } else if (!times.empty()) {
    const std::size_t half = times.size() / 2;
    peer.median_ns = times.size() % 2 == 1 ? times[half] : (times[half - 1] + times[half]) / 2;
  }
  if (runs.stddev_ns > 0) {
    peer.low_ns = peer.median_ns - runs.stddev_ns;
    peer.high_ns = peer.median_ns + runs.stddev_ns;
  } else if (times.size() > 1) {
    peer.low_ns = times.front();
    peer.high_ns = times.back();
  }
}

Status add_benchmark(const std::string& name, Repetitions& runs, const PeerRecord& of_file,
                     PeerReader& reader) {
  const JsonCursor& place = *runs.first;
  MGTUNE_ASSIGN(BenchmarkName parsed, place.located(parse_benchmark_name(name, reader.catalog())));
  PeerTime time{std::move(parsed.op), std::move(parsed.problem), of_file, "google_benchmark"};
  time.peer.name = reader.words().name.empty() ? parsed.peer : reader.words().name;
  time.peer.version = parsed.version;
  set_time(runs, time.peer);
  if (time.peer.median_ns <= 0) {
    return place.error("there is neither a repetition nor an aggregate \"median\" with a time");
  }
  return reader.add(place, std::move(time));
}

}  // namespace

bool is_google_benchmark(const JsonCursor& root) {
  return root.find("context").has_value() && root.find("benchmarks").has_value();
}

Status read_google_benchmark(const JsonCursor& root, PeerReader& reader) {
  PeerRecord of_file;
  MGTUNE_TRY(read_context(root.at("context"), of_file));
  MGTUNE_ASSIGN(const std::vector<JsonCursor> rows, root.at("benchmarks").elements());
  std::vector<std::pair<std::string, Repetitions>> benchmarks;  // in the order of the file
  for (const JsonCursor& row : rows) {
    if (!row.find("name")) return row.unexpected("a benchmark with a name");
    bool is_error = false;
    MGTUNE_TRY(row.read("error_occurred", is_error));
    if (is_error || row.find("skipped").has_value()) {
      reader.leave_out("that failed or were skipped");
      continue;
    }
    std::string name;
    MGTUNE_TRY(row.read("name", name));
    MGTUNE_TRY(row.read("run_name", name));
    auto known = std::ranges::find(benchmarks, name, &std::pair<std::string, Repetitions>::first);
    if (known == benchmarks.end()) {
      benchmarks.emplace_back(name, Repetitions());
      known = std::prev(benchmarks.end());
      known->second.first = &row;
    }
    MGTUNE_TRY(read_repetition(row, known->second));
  }
  for (auto& [name, runs] : benchmarks) MGTUNE_TRY(add_benchmark(name, runs, of_file, reader));
  return {};
}

}  // namespace mgtune

// What nvbench writes with --json: {"devices": [{"id", "name"}], "benchmarks": [{"name", "states":
// [{"device", "axis_values": [{"name", "value"}], "summaries": [{"tag", "data": [{"name", "value"}]
// }], "is_skipped"}]}]}.
//
// The name of a benchmark says the implementation and the operator (benchmark_name.h), and its axes
// are the values of the problem. The time is that of cold runs, which begin with a flushed L2
// cache: the median if nvbench wrote it, otherwise the mean. If there are no cold runs, the time of
// batches is used.

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "core/text.h"
#include "peers/benchmark_name.h"
#include "peers/peer_forms.h"

namespace mgtune {
namespace {

// The value of a summary. nvbench writes numbers as strings, because JSON cannot represent all of
// them.
Result<std::optional<double>> summary_value(const std::vector<JsonCursor>& summaries,
                                            std::string_view tag) {
  for (const JsonCursor& summary : summaries) {
    std::string found;
    MGTUNE_TRY(summary.read("tag", found));
    const std::optional<JsonCursor> data = summary.find("data");
    if (found != tag || !data) continue;
    MGTUNE_ASSIGN(const std::vector<JsonCursor> values, data->elements());
    for (const JsonCursor& entry : values) {
      std::string name;
      MGTUNE_TRY(entry.read("name", name));
      const std::optional<JsonCursor> value = entry.find("value");
      if (name != "value" || !value) continue;
      if (value->value().kind != JsonValue::Kind::string) {
        MGTUNE_ASSIGN(const double number, value->number());
        return std::optional(number);
      }
      const std::optional<double> number = parse_number<double>(value->value().string);
      if (!number) return value->unexpected("a number");
      return number;
    }
  }
  return std::optional<double>();
}

// Sets the time and its spread. False if the state has no time of this kind ("cold" or "batch").
Result<bool> read_time(const JsonCursor& state, const std::vector<JsonCursor>& summaries,
                       std::string_view kind, PeerRecord& peer) {
  const auto value = [&](std::string_view what) {
    return summary_value(summaries, fmt::format("nv/{}/{}", kind, what));
  };
  MGTUNE_ASSIGN(const std::optional<double> mean, value("time/gpu/mean"));
  MGTUNE_ASSIGN(const std::optional<double> median, value("time/gpu/median"));
  if (!mean && !median) return false;
  MGTUNE_ASSIGN(const std::optional<double> q1, value("time/gpu/q1"));
  MGTUNE_ASSIGN(const std::optional<double> q3, value("time/gpu/q3"));
  MGTUNE_ASSIGN(const std::optional<double> deviation, value("time/gpu/stdev/absolute"));
  MGTUNE_ASSIGN(const std::optional<double> samples, value("sample_size"));
  const double middle = median ? *median : *mean;
  if (!(middle > 0)) return state.error("expected a time above 0");
  peer.median_ns = nanoseconds(middle, "s");
  if (q1 && q3) {
    peer.low_ns = nanoseconds(*q1, "s");
    peer.high_ns = nanoseconds(*q3, "s");
  } else if (deviation) {
    peer.low_ns = nanoseconds(middle - *deviation, "s");
    peer.high_ns = nanoseconds(middle + *deviation, "s");
  }
  const bool is_count = samples && *samples > 0 && *samples < 1e15;
  peer.samples = is_count ? static_cast<std::int64_t>(*samples) : 0;
  return true;
}

Status read_axes(const JsonCursor& state, ProblemValues& problem) {
  const std::optional<JsonCursor> axes = state.find("axis_values");
  if (!axes) return {};
  MGTUNE_ASSIGN(const std::vector<JsonCursor> values, axes->elements());
  for (const JsonCursor& axis : values) {
    std::string name;
    MGTUNE_TRY(axis.read("name", name));
    const std::optional<JsonCursor> value = axis.find("value");
    if (name.empty() || !value) return axis.unexpected("an axis with a name and a value");
    MGTUNE_ASSIGN(std::string word, value->word());
    if (!problem.emplace(name, word).second) {
      return axis.error("the name of the benchmark says '" + name + "' too");
    }
  }
  return {};
}

Result<std::string> device_name(const JsonCursor& root, const JsonCursor& state) {
  std::int64_t wanted = 0;
  MGTUNE_TRY(state.read("device", wanted));
  MGTUNE_ASSIGN(const std::vector<JsonCursor> devices, root.at("devices").elements());
  for (const JsonCursor& device : devices) {
    std::int64_t id = 0;
    std::string name;
    MGTUNE_TRY(device.read("id", id));
    MGTUNE_TRY(device.read("name", name));
    if (id == wanted) return name;
  }
  return state.error(fmt::format("/devices has no device {}", wanted));
}

Status read_state(const JsonCursor& root, const JsonCursor& state, const BenchmarkName& name,
                  PeerReader& reader) {
  bool is_skipped = false;
  MGTUNE_TRY(state.read("is_skipped", is_skipped));
  if (is_skipped) {
    reader.leave_out("that failed or were skipped");
    return {};
  }
  PeerTime time;
  time.op = name.op;
  time.problem = name.problem;
  time.peer.name = reader.words().name.empty() ? name.peer : reader.words().name;
  time.peer.version = name.version;
  MGTUNE_ASSIGN(time.peer.gpu, device_name(root, state));
  MGTUNE_TRY(read_axes(state, time.problem));
  std::vector<JsonCursor> summaries;
  if (const std::optional<JsonCursor> list = state.find("summaries")) {
    MGTUNE_ASSIGN(summaries, list->elements());
  }
  for (const std::string_view kind : {"cold", "batch"}) {
    MGTUNE_ASSIGN(const bool has_time, read_time(state, summaries, kind, time.peer));
    if (!has_time) continue;
    time.usual_method = fmt::format("nvbench_{}", kind);
    return reader.add(state, std::move(time));
  }
  return state.error("no summary has the tag nv/cold/time/gpu/mean or nv/batch/time/gpu/mean");
}

}  // namespace

bool is_nvbench(const JsonCursor& root) {
  return root.find("devices").has_value() && root.find("benchmarks").has_value();
}

Status read_nvbench(const JsonCursor& root, PeerReader& reader) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> benchmarks, root.at("benchmarks").elements());
  for (const JsonCursor& benchmark : benchmarks) {
    const std::optional<JsonCursor> name = benchmark.find("name");
    const std::optional<JsonCursor> states = benchmark.find("states");
    if (!name || !states) return benchmark.unexpected("a benchmark with name and states");
    MGTUNE_ASSIGN(const std::string text, name->string());
    MGTUNE_ASSIGN(const BenchmarkName parsed,
                  name->located(parse_benchmark_name(text, reader.catalog())));
    MGTUNE_ASSIGN(const std::vector<JsonCursor> all, states->elements());
    for (const JsonCursor& state : all) MGTUNE_TRY(read_state(root, state, parsed, reader));
  }
  return {};
}

}  // namespace mgtune

#include "exchange/read_recorded_space.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "exchange/formats.h"
#include "exchange/gzip.h"
#include "json/json_value.h"

namespace mgtune {
namespace {

// The largest recording that is published (22,000 configurations with 32 samples each) has 60 MB.
constexpr std::size_t kMostBytes = std::size_t{512} << 20U;

// Nine tenths of a recording is what no search needs: single samples, stamps, the tuner's own time.
constexpr std::array<std::string_view, 9> kUnused = {
    "times",          "runtimes",      "timestamp",      "compile_time", "verification_time",
    "benchmark_time", "strategy_time", "framework_time", "tune_params"};

bool is_used(std::string_view key) {
  return std::find(kUnused.begin(), kUnused.end(), key) == kUnused.end();
}

// Kernel Tuner appends configurations while it runs and closes the file at the end: one that was
// stopped ends with a comma.
void close_open_cache(std::string& text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  if (last == std::string::npos || text[last] != ',') return;
  text.resize(last);
  text += "}}";
}

// What is wrong inside a file is the file's fault, not that of the words that name it.
Status as_corrupt(Status failure) {
  if (failure.code() != StatusCode::invalid_argument) return failure;
  return corrupt(failure.message());
}

Result<Recording> read_recording(const std::string& path, const JsonValue& value) {
  const JsonCursor root(path, value);
  if (value.kind == JsonValue::Kind::object) {
    if (is_kernel_tuner_cache(root)) return read_kernel_tuner_cache(root);
    if (is_t4(root)) return read_t4(root);
  }
  return root.error(
      "not a recorded space: neither a Kernel Tuner cache (\"tune_params_keys\", \"cache\") nor T4 "
      "results (\"results\")");
}

}  // namespace

Result<RecordedValue> recorded_value(const JsonCursor& value) {
  switch (value.value().kind) {
    case JsonValue::Kind::boolean:
      return RecordedValue{value.value().boolean ? 1.0 : 0.0,
                           value.value().boolean ? "true" : "false"};
    case JsonValue::Kind::integer:
    case JsonValue::Kind::number:
      return RecordedValue{value.value().number, value.value().string};
    case JsonValue::Kind::string:
      return RecordedValue{std::nullopt, value.value().string};
    case JsonValue::Kind::null:
    case JsonValue::Kind::array:
    case JsonValue::Kind::object:
      break;
  }
  return value.unexpected("number, boolean or string");
}

Result<double> recorded_time(const JsonCursor& value) {
  MGTUNE_ASSIGN(const double time, value.number());
  if (!(time > 0)) return value.unexpected("a time above 0");
  return time;
}

Result<RecordedSpace> read_recorded_space(FileSystem& files, const std::string& path) {
  MGTUNE_ASSIGN(std::string text, files.read_file(path));
  if (is_gzip(text)) {
    Result<std::string> unpacked = gunzip(text, kMostBytes);
    if (!unpacked.ok()) return std::move(unpacked).take_status().with_context(path);
    text = *std::move(unpacked);
  }
  if (text.size() > kMostBytes) return corrupt(path + ": larger than 512 MiB");
  close_open_cache(text);
  const Result<JsonValue> value = parse_json(text, is_used);
  if (!value.ok()) return as_corrupt(value.status()).with_context(path);
  text = {};
  Result<Recording> recording = read_recording(path, *value);
  if (!recording.ok()) return as_corrupt(recording.status());
  Result<RecordedSpace> space =
      RecordedSpace::make(std::move(recording->parameters), recording->configurations);
  if (!space.ok()) return std::move(space).take_status().with_context(path);
  return space;
}

}  // namespace mgtune

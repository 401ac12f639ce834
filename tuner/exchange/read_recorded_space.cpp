#include "exchange/read_recorded_space.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "exchange/formats.h"
#include "exchange/json_document.h"

namespace mgtune {
namespace {

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

Result<Recording> read_recording(const std::string& path, const JsonValue& value) {
  const JsonCursor root(path, value);
  for (const ExchangeFormat& format : exchange_formats()) {
    if (format.read_space != nullptr && format.recognizes(root)) return format.read_space(root);
  }
  return root.error(
      "not a recorded space: neither a Kernel Tuner cache (\"tune_params_keys\", \"cache\") nor T4 "
      "results (\"results\")");
}

}  // namespace

Result<RecordedSpace> read_recorded_space(FileSystem& files, const std::string& path) {
  MGTUNE_ASSIGN(std::string text, read_document(files, path));
  close_open_cache(text);
  MGTUNE_ASSIGN(const JsonValue value, parse_document(path, text, is_used));
  text = {};
  Result<Recording> recording = read_recording(path, value);
  if (!recording.ok()) return as_corrupt(recording.status());
  Result<RecordedSpace> space =
      RecordedSpace::make(std::move(recording->parameters), recording->configurations);
  if (!space.ok()) return std::move(space).take_status().with_context(path);
  return space;
}

}  // namespace mgtune

// Kernel Tuner's cache (kernel_tuner/file_utils and schema/cache in its repository): one object per
// configuration, under its values joined by commas. A configuration that failed has a word for its
// time: InvalidConfig, CompilationFailedConfig, RuntimeFailedConfig; or, in newer files, under
// "__error__"; or, in the oldest, a time of 1e20.

#include "exchange/formats.h"

namespace mgtune {
namespace {

constexpr double kOldestFailure = 1e20;

Result<double> time_of(const JsonCursor& entry) {
  if (entry.find("__error__").has_value()) return 0.0;
  const std::optional<JsonCursor> time = entry.find("time");
  if (!time.has_value()) return entry.error("a configuration without \"time\"");
  if (time->value().kind == JsonValue::Kind::string) return 0.0;
  MGTUNE_ASSIGN(const double value, recorded_time(*time));
  return value >= kOldestFailure ? 0.0 : value;
}

}  // namespace

bool is_kernel_tuner_cache(const JsonCursor& root) {
  return root.value().find("tune_params_keys") != nullptr && root.value().find("cache") != nullptr;
}

Result<Recording> read_kernel_tuner_cache(const JsonCursor& root) {
  Recording recording;
  MGTUNE_ASSIGN(const std::vector<JsonCursor> names, root.at("tune_params_keys").elements());
  for (const JsonCursor& name : names) {
    MGTUNE_ASSIGN(std::string word, name.string());
    recording.parameters.push_back(std::move(word));
  }
  MGTUNE_ASSIGN(const std::vector<JsonCursor> entries, root.at("cache").members());
  recording.configurations.reserve(entries.size());
  for (const JsonCursor& entry : entries) {
    if (entry.value().kind != JsonValue::Kind::object) return entry.unexpected("object");
    RecordedConfiguration configuration;
    for (const std::string& parameter : recording.parameters) {
      const std::optional<JsonCursor> value = entry.find(parameter);
      if (!value.has_value()) {
        return entry.error("a configuration without parameter '" + parameter + "'");
      }
      MGTUNE_ASSIGN(RecordedValue recorded, recorded_value(*value));
      configuration.values.push_back(std::move(recorded));
    }
    MGTUNE_ASSIGN(configuration.time, time_of(entry));
    recording.configurations.push_back(std::move(configuration));
  }
  return recording;
}

}  // namespace mgtune

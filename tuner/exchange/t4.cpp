// T4, the results format that tuners share (schema/T4/1.0.0/results-schema.json in Kernel Tuner's
// repository; schema_version 1.0.0): a list of results, each with its configuration, "invalidity"
// ("correct", or how it failed) and measurements of which the first objective is the time.

#include <algorithm>

#include "exchange/formats.h"

namespace mgtune {
namespace {

Result<std::string> objective(const JsonCursor& result) {
  const std::optional<JsonCursor> objectives = result.find("objectives");
  if (!objectives.has_value()) return std::string("time");
  MGTUNE_ASSIGN(const std::vector<JsonCursor> names, objectives->elements());
  if (names.empty()) return std::string("time");
  return names.front().string();
}

Result<double> time_of(const JsonCursor& result) {
  const std::optional<JsonCursor> invalidity = result.find("invalidity");
  if (invalidity.has_value()) {
    MGTUNE_ASSIGN(const std::string word, invalidity->string());
    if (word != "correct") return 0.0;
  }
  MGTUNE_ASSIGN(const std::string wanted, objective(result));
  const std::optional<JsonCursor> measurements = result.find("measurements");
  if (!measurements.has_value()) return result.error("a result without \"measurements\"");
  MGTUNE_ASSIGN(const std::vector<JsonCursor> all, measurements->elements());
  for (const JsonCursor& measurement : all) {
    const std::optional<JsonCursor> name = measurement.find("name");
    const std::optional<JsonCursor> value = measurement.find("value");
    if (!name.has_value() || !value.has_value()) {
      return measurement.error("a measurement has \"name\" and \"value\"");
    }
    MGTUNE_ASSIGN(const std::string word, name->string());
    if (word == wanted) return recorded_time(*value);
  }
  return measurements->error("no measurement of '" + wanted + "'");
}

}  // namespace

bool is_t4(const JsonCursor& root) { return root.value().find("results") != nullptr; }

Result<Recording> read_t4(const JsonCursor& root) {
  Recording recording;
  MGTUNE_ASSIGN(const std::vector<JsonCursor> results, root.at("results").elements());
  recording.configurations.reserve(results.size());
  for (const JsonCursor& result : results) {
    const std::optional<JsonCursor> values = result.find("configuration");
    if (!values.has_value()) return result.error("a result without \"configuration\"");
    MGTUNE_ASSIGN(const std::vector<JsonCursor> members, values->members());
    if (recording.configurations.empty()) recording.parameters = values->value().keys;
    if (members.size() != recording.parameters.size()) {
      return values->error("other parameters than the first result's");
    }
    RecordedConfiguration configuration;
    for (const std::string& parameter : recording.parameters) {
      const std::optional<JsonCursor> value = values->find(parameter);
      if (!value.has_value()) return values->error("no parameter '" + parameter + "'");
      MGTUNE_ASSIGN(RecordedValue recorded, recorded_value(*value));
      configuration.values.push_back(std::move(recorded));
    }
    MGTUNE_ASSIGN(configuration.time, time_of(result));
    recording.configurations.push_back(std::move(configuration));
  }
  return recording;
}

}  // namespace mgtune

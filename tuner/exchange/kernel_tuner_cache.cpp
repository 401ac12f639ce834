// Kernel Tuner's cache (kernel_tuner/util.py and schema/cache in its repository). It has one object
// per configuration. The key is the configuration's values as Python writes them, joined by commas.
// A configuration that failed has a word instead of its time: InvalidConfig,
// CompilationFailedConfig or RuntimeFailedConfig. Newer files have this word under "__error__", and
// the oldest files have a time of 1e20.
//
// A file that we write has one recording. The file ends in the same way as Kernel Tuner's own
// files, so that Kernel Tuner can append to it. "problem_size" is the problem's text, and both
// "time" and "__error__" say that a configuration failed. The members for the tuner's own times are
// 0, because mgtune does not record them.

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "exchange/formats.h"
#include "exchange/recording_document.h"
#include "tables/checked_values.h"

namespace mgtune {
namespace {

constexpr double kOldestFailure = 1e20;

constexpr std::array<std::string_view, 5> kTunersTimes = {
    "compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time"};

// Members of an entry that are not parameters, and names that Kernel Tuner forbids.
std::vector<std::string_view> reserved_names() {
  std::vector<std::string_view> names = {"time",        "times",       "timestamp",
                                         "__error__",   "outcome",     "origin",
                                         "grid_size_x", "grid_size_y", "grid_size_z"};
  names.insert(names.end(), kTunersTimes.begin(), kTunersTimes.end());
  const MeasurementRecord none;
  for_each_column_in(kRecording, none,
                     [&](const auto& field, const auto&) { names.push_back(field.name); });
  return names;
}

// Kernel Tuner's word for a failure; "" for a success.
std::string_view error_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
    case Outcome::raced_out:
      return "";
    case Outcome::compile_failed:
      return "CompilationFailedConfig";
    case Outcome::unsupported:
      return "InvalidConfig";
    case Outcome::wrong:
    case Outcome::crashed:
    case Outcome::timeout:
    case Outcome::launch_failed:
    case Outcome::unstable:
      break;
  }
  return "RuntimeFailedConfig";
}

std::string key_of(const std::vector<std::string>& values) {
  std::string key;
  for (const std::string& value : values) key += (key.empty() ? "" : ",") + python_text(value);
  return key;
}

std::string entry(const std::vector<RecordedColumn>& columns, const VariantRecording& recording,
                  const RecordedVariant& row) {
  const std::vector<std::string> values = values_in(columns, row.variant);
  Json json = Json::object();
  for (std::size_t i = 0; i < columns.size(); ++i) json[columns[i].name] = Json::of_word(values[i]);
  const std::string_view error = error_of(row.outcome);
  std::vector<RecordedNumber> numbers = recorded_numbers(row);
  if (error.empty()) {
    json["time"] = numbers.front().value;
    json["times"] = Json::Array{numbers.front().value};  // single samples are not kept
  } else {
    json["time"] = error;
    json["times"] = Json::array();
    json["__error__"] = error;
  }
  for (const std::string_view name : kTunersTimes) json[name] = 0;
  json["timestamp"] = recording.origins[row.origin].measured_at;
  for (RecordedNumber& number : numbers) {
    if (number.name != "time") json[number.name] = std::move(number.value);
  }
  return Json(key_of(values)).line_text() + ": " + json.line_text();
}

Result<std::string> content(const VariantRecording& recording) {
  MGTUNE_ASSIGN(const std::vector<RecordedColumn> columns,
                recorded_columns(recording, reserved_names()));
  Json keys = Json::array();
  Json values = Json::object();
  for (const RecordedColumn& column : columns) {
    keys.push_back(column.name);
    Json& list = values[column.name] = Json::array();
    for (const std::string& value : column.values) list.push_back(Json::of_word(value));
  }
  std::vector<std::string> entries;
  for (const RecordedVariant& row : recording.variants) {
    entries.push_back(entry(columns, recording, row));
  }
  // "cache" is the last member and ends in "}\n}": Kernel Tuner cuts the file there to append.
  return fmt::format(
      "{{\n\"schema_version\": \"1.1.0\",\n\"mgtune\": {},\n\"device_name\": {},\n"
      "\"kernel_name\": {},\n\"problem_size\": {},\n\"tune_params_keys\": {},\n"
      "\"tune_params\": {},\n\"objective\": \"time\",\n\"cache\": {{\n{}}}\n}}\n",
      recording_header(recording).line_text(), Json(recording.gpu.model).line_text(),
      Json(recording.op).line_text(), Json(recording.problem).line_text(), keys.line_text(),
      values.line_text(), fmt::join(entries, ",\n"));
}

Result<std::vector<Document>> write(const ExchangedResults& results, bool /*to_folder*/) {
  return recording_documents(results, "cache.json", content);
}

bool recognizes(const JsonCursor& root) {
  return root.value().find("tune_params_keys") != nullptr && root.value().find("cache") != nullptr;
}

Result<std::vector<std::string>> read_keys(const JsonCursor& root) {
  std::vector<std::string> keys;
  MGTUNE_TRY(root.at("tune_params_keys").read(keys));
  return keys;
}

Result<double> time_of(const JsonCursor& entry) {
  if (entry.find("__error__").has_value()) return 0.0;
  const std::optional<JsonCursor> time = entry.find("time");
  if (!time.has_value()) return entry.error("a configuration without \"time\"");
  if (time->value().kind == JsonValue::Kind::string) return 0.0;
  MGTUNE_ASSIGN(const double value, recorded_time(*time));
  return value >= kOldestFailure ? 0.0 : value;
}

Result<Recording> read_space(const JsonCursor& root) {
  Recording recording;
  MGTUNE_ASSIGN(recording.parameters, read_keys(root));
  MGTUNE_ASSIGN(const std::vector<JsonCursor> entries, root.at("cache").members());
  recording.configurations.reserve(entries.size());
  for (const JsonCursor& entry : entries) {
    if (entry.value().kind != JsonValue::Kind::object) return entry.unexpected("object");
    MGTUNE_ASSIGN(
        std::vector<RecordedValue> values,
        recorded_values(entry, recording.parameters, "a configuration without parameter"));
    MGTUNE_ASSIGN(const double time, time_of(entry));
    recording.configurations.push_back({std::move(values), time});
  }
  return recording;
}

// Checks that the file's other members do not contradict our header.
Status check_members(const JsonCursor& root, const RecordingReader& reader) {
  MGTUNE_TRY(root.expect_keys({"schema_version", "mgtune", "device_name", "kernel_name",
                               "problem_size", "tune_params_keys", "objective", "cache"},
                              {"tune_params"}));
  const auto check = [&](std::string_view name, const std::string& expected) -> Status {
    const JsonCursor member = root.at(name);
    MGTUNE_ASSIGN(const std::string word, member.string());
    return word == expected ? Status() : member.unexpected("what /mgtune says, " + expected);
  };
  MGTUNE_TRY(check("kernel_name", reader.problem.op));
  MGTUNE_TRY(check("objective", "time"));
  if (!reader.sweeps.empty()) MGTUNE_TRY(check("device_name", reader.sweeps.front().gpu.model));
  return {};
}

Status read_entry(const JsonCursor& entry, const std::vector<std::string>& keys,
                  RecordingReader& reader) {
  if (entry.value().kind != JsonValue::Kind::object) return entry.unexpected("object");
  std::vector<std::string> values;
  for (const std::string& key : keys) {
    const std::optional<JsonCursor> value = entry.find(key);
    if (!value) return entry.error("a configuration without parameter '" + key + "'");
    MGTUNE_ASSIGN(std::string word, value->parameter_word());
    values.push_back(std::move(word));
  }
  if (key_of(values) != entry.key()) {
    return entry.error("stands under other values than its own: " + key_of(values));
  }
  MGTUNE_ASSIGN(std::string variant, checked_variant(entry.at("design"), entry, *reader.op));
  MGTUNE_TRY(reader.add(entry, std::move(variant),
                        [&](std::string_view name) { return entry.find(name); }));
  const std::optional<JsonCursor> failure = entry.find("__error__");
  if (!failure && error_of(reader.last_outcome()).empty()) return {};
  if (!failure) return entry.error("a failure without \"__error__\"");
  MGTUNE_ASSIGN(const std::string word, failure->string());
  if (word == error_of(reader.last_outcome())) return {};
  return failure->unexpected("what the \"outcome\" says");
}

Result<std::vector<ImportedSweep>> read_results(const JsonCursor& root, Catalog& catalog) {
  const std::optional<JsonCursor> header = root.find("mgtune");
  if (!header) return foreign_recording(root);
  MGTUNE_ASSIGN(RecordingReader reader, read_recording_header(*header, catalog));
  MGTUNE_TRY(check_members(root, reader));
  MGTUNE_ASSIGN(const std::vector<std::string> keys, read_keys(root));
  if (std::ranges::find(keys, "design") == keys.end()) {
    return root.at("tune_params_keys").error("no \"design\"");
  }
  MGTUNE_TRY(check_parameters(root.at("tune_params_keys"), keys, *reader.op));
  MGTUNE_ASSIGN(const std::vector<JsonCursor> entries, root.at("cache").members());
  for (const JsonCursor& entry : entries) MGTUNE_TRY(read_entry(entry, keys, reader));
  return std::move(reader.sweeps);
}

}  // namespace

ExchangeFormat kernel_tuner_format() {
  return {"kernel-tuner", "every variant of one problem, as a Kernel Tuner cache",
          write,          recognizes,
          read_space,     read_results};
}

}  // namespace mgtune

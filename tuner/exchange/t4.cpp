// T4, the results format that tuners share (schema/T4/1.0.0/results-schema.json in Kernel Tuner's
// repository; schema_version 1.0.0): a list of results, each with its configuration, "invalidity"
// ("correct", or how it failed) and measurements of which the first objective is the time.
//
// The format has no place for the operator and the problem, so a file has one recording, with our
// own header in "metadata". The time is the median. "runtimes" has only the median, because single
// samples are not kept.

#include <fmt/ranges.h>

#include <utility>

#include "exchange/formats.h"
#include "exchange/recording_document.h"
#include "tables/checked_values.h"

namespace mgtune {
namespace {

constexpr std::string_view kCorrect = "correct";

std::string_view invalidity_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
    case Outcome::raced_out:
      return kCorrect;
    case Outcome::wrong:
      return "correctness";
    case Outcome::timeout:
      return "timeout";
    case Outcome::compile_failed:
      return "compile";
    case Outcome::unsupported:
      return "constraints";
    case Outcome::crashed:
    case Outcome::launch_failed:
    case Outcome::unstable:
      break;
  }
  return "runtime";
}

Json result_json(const std::vector<RecordedColumn>& columns, const VariantRecording& recording,
                 const RecordedVariant& row) {
  const std::vector<std::string> values = values_in(columns, row.variant);
  Json configuration = Json::object();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    configuration[columns[i].name] = Json::of_word(values[i]);
  }
  const std::string_view invalidity = invalidity_of(row.outcome);
  // An unstable variant is correct: it came to its timing, so it had passed its check.
  const bool correct = invalidity == kCorrect || row.outcome == Outcome::unstable;
  Json runtimes = Json::array();
  Json measurements = Json::array();
  for (RecordedNumber& number : recorded_numbers(row)) {
    if (number.name == "time") runtimes.push_back(number.value);
    measurements.push_back({{"name", std::move(number.name)},
                            {"value", std::move(number.value)},
                            {"unit", std::move(number.unit)}});
  }
  return {{"timestamp", recording.origins[row.origin].measured_at},
          {"configuration", std::move(configuration)},
          {"objectives", Json::Array{"time"}},
          {"times", {{"runtimes", std::move(runtimes)}}},
          {"invalidity", invalidity},
          {"correctness", correct ? 1 : 0},
          {"measurements", std::move(measurements)}};
}

Result<std::string> content(const VariantRecording& recording) {
  MGTUNE_ASSIGN(const std::vector<RecordedColumn> columns, recorded_columns(recording, {}));
  const Json metadata = {{"timeunit", "milliseconds"},
                         {"autotuner", "mgtune"},
                         {"device", recording.gpu.model},
                         {"mgtune", recording_header(recording)}};
  std::vector<std::string> results;
  for (const RecordedVariant& row : recording.variants) {
    results.push_back(result_json(columns, recording, row).line_text());
  }
  return fmt::format(
      "{{\n\"schema_version\": \"1.0.0\",\n\"metadata\": {},\n\"results\": [\n{}\n]\n}}\n",
      metadata.line_text(), fmt::join(results, ",\n"));
}

Result<std::vector<Document>> write(const ExchangedResults& results, bool /*to_folder*/) {
  return recording_documents(results, "t4.json", content);
}

bool recognizes(const JsonCursor& root) { return root.value().find("results") != nullptr; }

Result<std::string> objective(const JsonCursor& result) {
  const std::optional<JsonCursor> objectives = result.find("objectives");
  if (!objectives.has_value()) return std::string("time");
  MGTUNE_ASSIGN(const std::vector<JsonCursor> names, objectives->elements());
  if (names.empty()) return std::string("time");
  return names.front().string();
}

// The value of the measurement of that name; nullopt when there is none.
Result<std::optional<JsonCursor>> measured(const JsonCursor& measurements,
                                           std::string_view wanted) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> all, measurements.elements());
  for (const JsonCursor& measurement : all) {
    const std::optional<JsonCursor> name = measurement.find("name");
    const std::optional<JsonCursor> value = measurement.find("value");
    if (!name.has_value() || !value.has_value()) {
      return measurement.error("a measurement has \"name\" and \"value\"");
    }
    MGTUNE_ASSIGN(const std::string word, name->string());
    if (word == wanted) return std::optional<JsonCursor>(*value);
  }
  return std::optional<JsonCursor>();
}

Result<double> time_of(const JsonCursor& result) {
  std::string invalidity(kCorrect);
  MGTUNE_TRY(result.read("invalidity", invalidity));
  if (invalidity != kCorrect) return 0.0;
  MGTUNE_ASSIGN(const std::string wanted, objective(result));
  const std::optional<JsonCursor> measurements = result.find("measurements");
  if (!measurements.has_value()) return result.error("a result without \"measurements\"");
  MGTUNE_ASSIGN(const std::optional<JsonCursor> time, measured(*measurements, wanted));
  if (!time.has_value()) return measurements->error("no measurement of '" + wanted + "'");
  return recorded_time(*time);
}

Result<Recording> read_space(const JsonCursor& root) {
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
    MGTUNE_ASSIGN(std::vector<RecordedValue> recorded,
                  recorded_values(*values, recording.parameters, "no parameter"));
    MGTUNE_ASSIGN(const double time, time_of(result));
    recording.configurations.push_back({std::move(recorded), time});
  }
  return recording;
}

Status read_result(const JsonCursor& result, RecordingReader& reader) {
  MGTUNE_TRY(result.expect_keys(
      {"configuration", "objectives", "times", "invalidity", "correctness", "measurements"},
      {"timestamp"}));
  const JsonCursor configuration = result.at("configuration");
  const std::optional<JsonCursor> design = configuration.find("design");
  if (!design) return configuration.error("no \"design\"");
  MGTUNE_TRY(check_parameters(configuration, configuration.value().keys, *reader.op));
  MGTUNE_ASSIGN(std::string variant, checked_variant(*design, configuration, *reader.op));
  const JsonCursor measurements = result.at("measurements");
  MGTUNE_TRY(measured(measurements, "").status());  // checks that all of them are well formed
  MGTUNE_TRY(reader.add(result, std::move(variant), [&](std::string_view name) {
    return measured(measurements, name).value();
  }));
  MGTUNE_ASSIGN(const std::string invalidity, result.at("invalidity").string());
  if (invalidity == invalidity_of(reader.last_outcome())) return {};
  return result.at("invalidity").unexpected("what the \"outcome\" says");
}

Result<std::vector<ImportedSweep>> read_results(const JsonCursor& root, Catalog& catalog) {
  const std::optional<JsonCursor> metadata = root.find("metadata");
  const std::optional<JsonCursor> header = metadata ? metadata->find("mgtune") : std::nullopt;
  if (!header) return foreign_recording(root);
  MGTUNE_ASSIGN(RecordingReader reader, read_recording_header(*header, catalog));
  MGTUNE_ASSIGN(const std::vector<JsonCursor> results, root.at("results").elements());
  for (const JsonCursor& result : results) MGTUNE_TRY(read_result(result, reader));
  return std::move(reader.sweeps);
}

}  // namespace

ExchangeFormat t4_format() {
  return {"t4",       "every variant of one problem, as T4 results 1.0.0",
          write,      recognizes,
          read_space, read_results};
}

}  // namespace mgtune

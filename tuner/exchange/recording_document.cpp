#include "exchange/recording_document.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/text.h"
#include "store/record_json.h"
#include "tables/checked_values.h"

namespace mgtune {
namespace {

constexpr double kNsInMs = 1e6;

// The value of a field in a recording, if it is known.
std::optional<Json> recorded(double value) {
  return std::isfinite(value) && value > 0 ? std::optional<Json>(value) : std::nullopt;
}
std::optional<Json> recorded(std::int64_t value) {
  return value > 0 ? std::optional<Json>(value) : std::nullopt;
}
std::optional<Json> recorded(const std::string& value) {
  return value.empty() ? std::nullopt : std::optional<Json>(value);
}
std::optional<Json> recorded(Outcome /*value*/) { return std::nullopt; }  // see recorded_numbers()

Status read_value(const JsonCursor& place, double& value) {
  MGTUNE_ASSIGN(value, read_positive(place));
  return {};
}
Status read_value(const JsonCursor& place, std::int64_t& value) {
  MGTUNE_ASSIGN(value, place.integer(1, std::numeric_limits<std::int64_t>::max()));
  return {};
}
Status read_value(const JsonCursor& place, std::string& value) {
  MGTUNE_ASSIGN(value, read_text(place));
  return {};
}
Status read_value(const JsonCursor& /*place*/, Outcome& /*value*/) { return {}; }  // see add()

bool is_timed(Outcome outcome) { return outcome == Outcome::ok || outcome == Outcome::raced_out; }

RecordedColumn& column_called(std::vector<RecordedColumn>& columns, const std::string& name) {
  const auto found = std::ranges::find(columns, name, &RecordedColumn::name);
  return found != columns.end() ? *found : columns.emplace_back(RecordedColumn{name, {}});
}

void add_value(RecordedColumn& column, const std::string& value) {
  const auto place = std::ranges::lower_bound(column.values, value, is_value_before);
  if (place == column.values.end() || *place != value) column.values.insert(place, value);
}

Result<MeasurementRecord> read_measurement(const JsonCursor& place,
                                           const RecordingReader::Find& find) {
  const std::optional<JsonCursor> time = find("time");
  const std::optional<JsonCursor> median = find("median_ns");
  if (!time || !median) return place.error("a variant that ran needs \"time\" and \"median_ns\"");
  MeasurementRecord m;
  MGTUNE_ASSIGN(m.median_ns, read_positive(*median));
  MGTUNE_ASSIGN(const double time_ms, read_positive(*time));
  // Both numbers are the same time. If somebody has edited only one of them, the file is refused.
  if (!(std::abs(time_ms * kNsInMs - m.median_ns) <= 1e-9 * m.median_ns)) {
    return time->error("a time in ms that is not \"median_ns\"");
  }
  Status status;
  for_each_column_in(kRecording, m, [&](const auto& field, auto& value) {
    if (!status.ok()) return;
    if (const auto known = find(field.name)) status = read_value(*known, value);
  });
  if (!status.ok()) return status;
  return m;
}

}  // namespace

Result<std::vector<RecordedColumn>> recorded_columns(const VariantRecording& recording,
                                                     std::span<const std::string_view> reserved) {
  std::vector<RecordedColumn> columns = {{"design", {}}};
  for (const RecordedVariant& row : recording.variants) {
    add_value(columns.front(), row.variant.design);
    for (const auto& [name, value] : row.variant.parameters) {
      if (name == "design" || std::ranges::find(reserved, name) != reserved.end()) {
        return invalid_argument(recording.op + " has a parameter '" + name +
                                "', a name that the format keeps for itself");
      }
      add_value(column_called(columns, name), value);
    }
  }
  return columns;
}

std::vector<std::string> values_in(const std::vector<RecordedColumn>& columns,
                                   const VariantWords& variant) {
  std::vector<std::string> values = {variant.design};
  for (std::size_t i = 1; i < columns.size(); ++i) {
    const std::string* value = variant.find(columns[i].name);
    values.push_back(value != nullptr ? *value : columns[i].values.front());
  }
  return values;
}

Json recording_header(const VariantRecording& recording) {
  Json origins = Json::array();
  for (const Origin& origin : recording.origins) {
    origins.push_back(
        {{"measured_at", origin.measured_at}, {"environment", record_json(origin.environment)}});
  }
  return {{"format", 1},
          {"operator", recording.op},
          {"problem", recording.problem},
          {"method", recording.method},
          {"gpu", record_json(recording.gpu)},
          {"origins", std::move(origins)}};
}

Result<std::vector<Document>> recording_documents(
    const ExchangedResults& results, const std::string& ending,
    Result<std::string> (*content)(const VariantRecording& recording)) {
  std::vector<Document> documents;
  for (const VariantRecording& recording : results.recordings) {
    MGTUNE_ASSIGN(std::string text, content(recording));
    documents.push_back({document_name({gpu_word(recording.gpu), recording.op, recording.problem,
                                        recording.method, ending}),
                         std::move(text)});
  }
  return documents;
}

std::vector<RecordedNumber> recorded_numbers(const RecordedVariant& variant) {
  std::vector<RecordedNumber> numbers;
  const MeasurementRecord& m = variant.measurement;
  const bool timed = is_timed(variant.outcome);
  if (timed) numbers.push_back({"time", m.median_ns / kNsInMs, "ms"});
  numbers.push_back({"outcome", to_string(variant.outcome), ""});
  numbers.push_back({"origin", variant.origin, ""});
  if (!timed) return numbers;
  for_each_column_in(kRecording, m, [&](const auto& field, const auto& value) {
    std::optional<Json> known = recorded(value);
    if (known) numbers.push_back({field.name, *std::move(known), std::string(field.traits.unit)});
  });
  return numbers;
}

Result<RecordingReader> read_recording_header(const JsonCursor& header, Catalog& catalog) {
  MGTUNE_TRY(header.expect_keys({"format", "operator", "problem", "method", "gpu", "origins"}));
  MGTUNE_TRY(header.at("format").integer(1, 1).status());
  RecordingReader reader;
  MGTUNE_ASSIGN(reader.op, checked_operator(header.at("operator"), catalog));
  MGTUNE_ASSIGN(reader.problem, checked_problem(header.at("problem"), *reader.op));
  ImportedSweep sweep;
  MGTUNE_ASSIGN(sweep.gpu, read_gpu(header.at("gpu")));
  MGTUNE_ASSIGN(reader.method, read_method(header.at("method"), sweep.gpu));
  MGTUNE_ASSIGN(const std::vector<JsonCursor> origins, header.at("origins").elements());
  for (const JsonCursor& origin : origins) {
    MGTUNE_TRY(origin.expect_keys({"measured_at", "environment"}));
    MGTUNE_ASSIGN(sweep.measured_at, read_time_stamp(origin.at("measured_at")));
    MGTUNE_ASSIGN(sweep.environment, read_environment(origin.at("environment")));
    reader.sweeps.push_back(sweep);
  }
  return reader;
}

Status RecordingReader::add(const JsonCursor& place, std::string variant, const Find& find) {
  const std::optional<JsonCursor> outcome = find("outcome");
  const std::optional<JsonCursor> origin = find("origin");
  if (!outcome || !origin) return place.error("no \"outcome\" and \"origin\"");
  MGTUNE_ASSIGN(const std::string word, outcome->string());
  const std::optional<Outcome> known = outcome_from_string(word);
  if (!known) return outcome->unexpected("an outcome of mgtune's");
  MGTUNE_ASSIGN(const std::int64_t index, origin->integer());
  if (index < 0 || static_cast<std::size_t>(index) >= sweeps.size()) {
    return origin->unexpected("one of the file's origins");
  }
  ImportedOutcome row{problem, std::move(variant), *known, std::nullopt};
  if (is_timed(*known)) {
    MGTUNE_ASSIGN(row.measurement, read_measurement(place, find));
  } else if (find("median_ns")) {
    return place.error("a time of a variant that failed");
  } else if (*known == Outcome::unstable) {
    row.measurement.emplace();  // it was timed by this method, but its time does not count
  }
  if (row.measurement) {
    row.measurement->outcome = *known;
    row.measurement->method = method;
  }
  last_outcome_ = *known;
  sweeps[static_cast<std::size_t>(index)].outcomes.push_back(std::move(row));
  return {};
}

Status foreign_recording(const JsonCursor& root) {
  return root.error(
      "a recording without mgtune's own header: what it recorded is no operator of ours, and "
      "cannot become results of one; 'mgtune simulate --space' reads it");
}

Status check_parameters(const JsonCursor& place, const std::vector<std::string>& keys,
                        const Operator& op) {
  std::vector<std::string> known = {"design"};
  for (const Design& design : op.designs) {
    for (const Parameter& parameter : design.params) known.push_back(parameter.name);
  }
  for (const std::string& key : keys) {
    if (std::ranges::find(known, key) != known.end()) continue;
    return place.error(op.full_name() + " has no parameter '" + key + "'" +
                       did_you_mean(key, known));
  }
  return {};
}

}  // namespace mgtune

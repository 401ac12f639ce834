#include <fmt/format.h>

#include <optional>
#include <utility>

#include "compare/readers.h"
#include "store/records.h"

namespace mgtune {
namespace {

Result<std::string> text_at(const JsonCursor& object, std::string_view key) {
  const std::optional<JsonCursor> value = object.find(key);
  if (!value) return object.error("has no \"" + std::string(key) + "\"");
  return value->string();
}

// 0 for null and for a key that an older mgtune did not write.
Result<double> number_at(const JsonCursor& object, std::string_view key) {
  const std::optional<JsonCursor> value = object.find(key);
  if (!value || value->value().kind == JsonValue::Kind::null) return 0.0;
  MGTUNE_ASSIGN(const double number, value->number());
  if (number < 0) return value->unexpected("a number that is not negative");
  return number;
}

Result<RowName> name_at(const JsonCursor& object) {
  RowName name;
  MGTUNE_ASSIGN(name.op, text_at(object, "operator"));
  MGTUNE_ASSIGN(name.problem, text_at(object, "problem"));
  MGTUNE_ASSIGN(name.variant, text_at(object, "variant"));
  MGTUNE_ASSIGN(name.device, text_at(object, "gpu"));
  const std::optional<JsonCursor> emulation = object.find("emulation");
  if (!emulation) return object.error("has no \"emulation\"");
  MGTUNE_ASSIGN(name.emulation, emulation->boolean());
  return name;
}

MeasuredRow make_row(RowName name, TimeEstimate time) {
  const Clock clock = name.emulation ? Clock::host : Clock::gpu;
  return {std::move(name), time, clock};
}

Result<TimeEstimate> time_at(const JsonCursor& measurement) {
  TimeEstimate time;
  MGTUNE_ASSIGN(time.median_ns, number_at(measurement, "median_ns"));
  MGTUNE_ASSIGN(time.low_ns, number_at(measurement, "median_low_ns"));
  MGTUNE_ASSIGN(time.high_ns, number_at(measurement, "median_high_ns"));
  if (time.high_ns == 0) {
    MGTUNE_ASSIGN(const double q1, number_at(measurement, "q1_ns"));
    MGTUNE_ASSIGN(const double q3, number_at(measurement, "q3_ns"));
    MGTUNE_ASSIGN(const double samples, number_at(measurement, "samples"));
    const MedianInterval interval =
        interval_from_quartiles(time.median_ns, q1, q3, static_cast<std::int64_t>(samples));
    time.low_ns = interval.low_ns;
    time.high_ns = interval.high_ns;
  }
  return time;
}

Status read_variant(const JsonCursor& variant, MeasuredTable& table) {
  MGTUNE_ASSIGN(RowName name, name_at(variant));
  MGTUNE_ASSIGN(const std::string outcome, text_at(variant, "outcome"));
  const bool raced_out = outcome == to_string(Outcome::raced_out);
  const std::optional<JsonCursor> measurement = variant.find("measurement");
  const bool measured = measurement && measurement->value().kind != JsonValue::Kind::null;
  if (!measured || !(raced_out || outcome == to_string(Outcome::ok))) {
    table.untimed.push_back({std::move(name), outcome});
    return {};
  }
  MGTUNE_ASSIGN(name.method, text_at(*measurement, "method"));
  const std::optional<JsonCursor> final = variant.find("final");
  const bool is_finalist = final && final->value().kind != JsonValue::Kind::null;
  MGTUNE_ASSIGN(TimeEstimate time, time_at(is_finalist ? *final : *measurement));
  time.cut_short = raced_out;
  if (time.median_ns == 0) {
    table.untimed.push_back({std::move(name), std::string(kNoTime)});
  } else {
    table.rows.push_back(make_row(std::move(name), time));
  }
  return {};
}

// Two rows: the pick, and the default that it was compared with if that is another variant. The
// document does not have the intervals of their medians.
Status read_pick(const JsonCursor& pick, MeasuredTable& table) {
  MGTUNE_ASSIGN(RowName name, name_at(pick));
  MGTUNE_ASSIGN(name.method, text_at(pick, "method"));
  MGTUNE_ASSIGN(const double median_ns, number_at(pick, "median_ns"));
  MGTUNE_ASSIGN(const std::string standard, text_at(pick, "default_variant"));
  MGTUNE_ASSIGN(const double default_ns, number_at(pick, "default_median_ns"));
  RowName standard_name = name;
  standard_name.variant = standard;
  const bool has_standard = default_ns > 0 && standard != name.variant;
  if (median_ns > 0) table.rows.push_back(make_row(std::move(name), {median_ns}));
  if (has_standard) table.rows.push_back(make_row(std::move(standard_name), {default_ns}));
  return {};
}

Status read_each(const JsonCursor& array, MeasuredTable& table,
                 Status (*read)(const JsonCursor&, MeasuredTable&)) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> elements, array.elements());
  for (const JsonCursor& element : elements) MGTUNE_TRY(read(element, table));
  return {};
}

// {"design": "row", "parameters": {"VEC": 8}} as the text that is a variant's name.
Result<std::string> variant_at(const JsonCursor& object) {
  MGTUNE_ASSIGN(std::string text, text_at(object, "design"));
  const std::optional<JsonCursor> parameters = object.find("parameters");
  if (!parameters) return object.error("has no \"parameters\"");
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, parameters->members());
  for (const JsonCursor& member : members) {
    const JsonValue& value = member.value();
    const bool is_boolean = value.kind == JsonValue::Kind::boolean;
    const std::string word = value.boolean ? "true" : "false";
    text += fmt::format(" {}={}", member.key(), is_boolean ? word : value.string);
  }
  return text;
}

// Of a tuned table that 'mgtune export' wrote. Two rows, as of read_pick().
Status read_tuned(const JsonCursor& pick, RowName name, MeasuredTable& table) {
  MGTUNE_ASSIGN(name.problem, text_at(pick, "problem"));
  MGTUNE_ASSIGN(name.method, text_at(pick, "method"));
  MGTUNE_ASSIGN(name.variant, variant_at(pick));
  MGTUNE_ASSIGN(const double median_ns, number_at(pick, "median_ns"));
  if (median_ns > 0) table.rows.push_back(make_row(name, {median_ns}));
  const std::optional<JsonCursor> standard = pick.find("default");
  if (!standard || standard->value().kind == JsonValue::Kind::null) return {};
  MGTUNE_ASSIGN(std::string variant, variant_at(*standard));
  MGTUNE_ASSIGN(const double default_ns, number_at(*standard, "median_ns"));
  if (default_ns <= 0 || variant == name.variant) return {};
  name.variant = std::move(variant);
  table.rows.push_back(make_row(std::move(name), {default_ns}));
  return {};
}

Status read_table(const JsonCursor& object, MeasuredTable& table) {
  RowName name;
  MGTUNE_ASSIGN(name.op, text_at(object, "operator"));
  const std::optional<JsonCursor> gpu = object.find("gpu");
  const std::optional<JsonCursor> picks = object.find("picks");
  if (!gpu || !picks) return object.error("has no \"gpu\" and \"picks\"");
  MGTUNE_ASSIGN(name.device, text_at(*gpu, "model"));
  const std::optional<JsonCursor> emulation = gpu->find("emulation");
  if (!emulation) return gpu->error("has no \"emulation\"");
  MGTUNE_ASSIGN(name.emulation, emulation->boolean());
  MGTUNE_ASSIGN(const std::vector<JsonCursor> elements, picks->elements());
  for (const JsonCursor& element : elements) MGTUNE_TRY(read_tuned(element, name, table));
  return {};
}

Status read_sweep(const JsonCursor& sweep, MeasuredTable& table) {
  const std::optional<JsonCursor> picks = sweep.find("picks");
  if (!picks) return sweep.error("has no \"picks\"");
  return read_each(*picks, table, read_pick);
}

}  // namespace

Status read_export(const JsonCursor& document, MeasuredTable& table) {
  MGTUNE_ASSIGN(const std::int64_t format, document.at("format").integer());
  if (format != 1) {
    return incompatible(table.file + " has format " + std::to_string(format) +
                        ", this mgtune reads 1");
  }
  struct Part {
    const char* key;
    Status (*read)(const JsonCursor&, MeasuredTable&);
  };
  for (const Part& part : {Part{"variants", read_variant},
                           {"picks", read_pick},
                           {"sweeps", read_sweep},
                           {"tables", read_table}}) {
    if (const std::optional<JsonCursor> array = document.find(part.key)) {
      table.kind = part.key;
      return read_each(*array, table, part.read);
    }
  }
  return document.error(
      "has no times: expected what 'mgtune show variants --json', 'mgtune show best --json', "
      "'mgtune sweep --json' or 'mgtune export' prints");
}

}  // namespace mgtune

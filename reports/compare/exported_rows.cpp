#include <fmt/format.h>

#include <optional>
#include <utility>

#include "compare/readers.h"
#include "store/records.h"

namespace mgtune {
namespace {

Result<std::string> text_at(const JsonCursor& object, std::string_view key) {
  MGTUNE_ASSIGN(const JsonCursor value, member_at(object, key));
  return value.string();
}

Result<bool> emulation_at(const JsonCursor& object) {
  MGTUNE_ASSIGN(const JsonCursor value, member_at(object, "emulation"));
  return value.boolean();
}

bool is_null(const std::optional<JsonCursor>& value) {
  return !value || value->value().kind == JsonValue::Kind::null;
}

// 0 for null and for a key that an older mgtune did not write.
Result<double> number_at(const JsonCursor& object, std::string_view key) {
  const std::optional<JsonCursor> value = object.find(key);
  if (is_null(value)) return 0.0;
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
  MGTUNE_ASSIGN(name.emulation, emulation_at(object));
  return name;
}

MeasuredRow make_row(RowName name, TimeEstimate time, std::vector<double> figures, bool is_pick) {
  const Clock clock = name.emulation ? Clock::host : Clock::gpu;
  return {std::move(name), time, clock, std::move(figures), is_pick};
}

// The figures of a measurement or of a final, as read_store() has them. 0 if the document lacks
// one.
Status add_figures(const JsonCursor& object, std::initializer_list<std::string_view> keys,
                   std::vector<double>& figures) {
  for (const std::string_view key : keys) {
    MGTUNE_ASSIGN(figures.emplace_back(), number_at(object, key));
  }
  return {};
}

Result<TimeEstimate> time_at(const JsonCursor& measurement) {
  TimeEstimate time;
  MGTUNE_ASSIGN(time.median_ns, number_at(measurement, "median_ns"));
  MGTUNE_ASSIGN(time.low_ns, number_at(measurement, "median_low_ns"));
  MGTUNE_ASSIGN(time.high_ns, number_at(measurement, "median_high_ns"));
  if (time.high_ns > 0) return time;
  MGTUNE_ASSIGN(const double q1_ns, number_at(measurement, "q1_ns"));
  MGTUNE_ASSIGN(const double q3_ns, number_at(measurement, "q3_ns"));
  MGTUNE_ASSIGN(const double samples, number_at(measurement, "samples"));
  return estimate_from_quartiles(time.median_ns, q1_ns, q3_ns, static_cast<std::int64_t>(samples));
}

Status read_variant(const JsonCursor& variant, MeasuredTable& table) {
  MGTUNE_ASSIGN(RowName name, name_at(variant));
  MGTUNE_ASSIGN(const std::string outcome, text_at(variant, "outcome"));
  const bool raced_out = outcome == to_string(Outcome::raced_out);
  const std::optional<JsonCursor> measurement = variant.find("measurement");
  if (is_null(measurement) || !(raced_out || outcome == to_string(Outcome::ok))) {
    table.untimed.push_back({std::move(name), outcome});
    return {};
  }
  MGTUNE_ASSIGN(name.method, text_at(*measurement, "method"));
  bool is_pick = false;
  MGTUNE_TRY(variant.read("is_pick", is_pick));
  const std::optional<JsonCursor> final = variant.find("final");
  MGTUNE_ASSIGN(TimeEstimate time, time_at(is_null(final) ? *measurement : *final));
  time.cut_short = raced_out;
  std::vector<double> figures;
  MGTUNE_TRY(add_figures(
      *measurement,
      {"median_ns", "q1_ns", "q3_ns", "min_ns", "samples", "median_low_ns", "median_high_ns"},
      figures));
  if (!is_null(final)) {
    MGTUNE_TRY(add_figures(
        *final,
        {"median_ns", "median_low_ns", "median_high_ns", "ratio", "ratio_low", "ratio_high"},
        figures));
  }
  if (time.median_ns == 0) {
    table.untimed.push_back({std::move(name), std::string(kNoTime)});
  } else {
    table.rows.push_back(make_row(std::move(name), time, std::move(figures), is_pick));
  }
  return {};
}

// Adds the row of a pick, and that of the default that it was compared with if that is another
// variant. The documents do not have the intervals of their medians.
void add_pick(RowName name, double median_ns, const std::string& default_variant, double default_ns,
              MeasuredTable& table) {
  if (median_ns > 0) table.rows.push_back(make_row(name, {median_ns}, {median_ns}, true));
  if (default_ns <= 0 || default_variant == name.variant) return;
  name.variant = default_variant;
  table.rows.push_back(make_row(std::move(name), {default_ns}, {default_ns}, false));
}

Status read_pick(const JsonCursor& pick, MeasuredTable& table) {
  MGTUNE_ASSIGN(RowName name, name_at(pick));
  MGTUNE_ASSIGN(name.method, text_at(pick, "method"));
  MGTUNE_ASSIGN(const double median_ns, number_at(pick, "median_ns"));
  MGTUNE_ASSIGN(const std::string default_variant, text_at(pick, "default_variant"));
  MGTUNE_ASSIGN(const double default_ns, number_at(pick, "default_median_ns"));
  add_pick(std::move(name), median_ns, default_variant, default_ns, table);
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
  MGTUNE_ASSIGN(const JsonCursor parameters, member_at(object, "parameters"));
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, parameters.members());
  for (const JsonCursor& member : members) {
    const JsonValue& value = member.value();
    const bool is_boolean = value.kind == JsonValue::Kind::boolean;
    const std::string word = value.boolean ? "true" : "false";
    text += fmt::format(" {}={}", member.key(), is_boolean ? word : value.string);
  }
  return text;
}

// A pick of a tuned table that 'mgtune export' wrote.
Status read_tuned(const JsonCursor& pick, RowName name, MeasuredTable& table) {
  MGTUNE_ASSIGN(name.problem, text_at(pick, "problem"));
  MGTUNE_ASSIGN(name.method, text_at(pick, "method"));
  MGTUNE_ASSIGN(name.variant, variant_at(pick));
  MGTUNE_ASSIGN(const double median_ns, number_at(pick, "median_ns"));
  std::string default_variant;
  double default_ns = 0;
  if (const std::optional<JsonCursor> standard = pick.find("default"); !is_null(standard)) {
    MGTUNE_ASSIGN(default_variant, variant_at(*standard));
    MGTUNE_ASSIGN(default_ns, number_at(*standard, "median_ns"));
  }
  add_pick(std::move(name), median_ns, default_variant, default_ns, table);
  return {};
}

Status read_table(const JsonCursor& object, MeasuredTable& table) {
  RowName name;
  MGTUNE_ASSIGN(name.op, text_at(object, "operator"));
  const std::optional<JsonCursor> gpu = object.find("gpu");
  const std::optional<JsonCursor> picks = object.find("picks");
  if (!gpu || !picks) return object.error("has no \"gpu\" and \"picks\"");
  MGTUNE_ASSIGN(name.device, text_at(*gpu, "model"));
  MGTUNE_ASSIGN(name.emulation, emulation_at(*gpu));
  MGTUNE_ASSIGN(const std::vector<JsonCursor> elements, picks->elements());
  for (const JsonCursor& element : elements) MGTUNE_TRY(read_tuned(element, name, table));
  return {};
}

Status read_sweep(const JsonCursor& sweep, MeasuredTable& table) {
  MGTUNE_ASSIGN(const JsonCursor picks, member_at(sweep, "picks"));
  return read_each(picks, table, read_pick);
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

#include "tables/checked_values.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/variant_words.h"
#include "family/problem.h"
#include "family/variant.h"
#include "selection/evidence.h"
#include "selection/pick_key.h"

namespace mgtune {
namespace {

constexpr std::size_t kLongestText = 1000;
constexpr std::string_view kEmulation = "emulation";

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

Status read_value(const JsonCursor& place, std::string& value) {
  MGTUNE_ASSIGN(value, read_text(place));
  return {};
}
Status read_value(const JsonCursor& place, std::int64_t& value) {
  MGTUNE_ASSIGN(value, place.integer(0, std::numeric_limits<std::int64_t>::max()));
  return {};
}
Status read_value(const JsonCursor& place, bool& value) {
  MGTUNE_ASSIGN(value, place.boolean());
  return {};
}

// An object that has the fields of a record, and nothing else.
template <HasFields Record>
Status read_strictly(const JsonCursor& place, Record& record) {
  Status status = std::apply(
      [&](const auto&... field) { return place.expect_keys({field.name...}); }, Record::fields());
  for_each_field(record, [&](const auto& field, auto& value) {
    if (status.ok()) status = read_value(place.at(field.name), value);
  });
  return status;
}

}  // namespace

Result<GpuRecord> read_gpu(const JsonCursor& gpu) {
  GpuRecord record;
  MGTUNE_TRY(read_strictly(gpu, record));
  if (record.model.empty()) return gpu.at("model").unexpected("a GPU's model");
  if (record.arch.empty()) return gpu.at("arch").unexpected("an architecture");
  return record;
}

Result<EnvironmentRecord> read_environment(const JsonCursor& environment) {
  EnvironmentRecord record;
  MGTUNE_TRY(read_strictly(environment, record));
  return record;
}

Result<std::string> read_text(const JsonCursor& text) {
  MGTUNE_ASSIGN(std::string word, text.string());
  if (word.size() > kLongestText) return text.unexpected("a text of at most 1,000 bytes");
  if (std::ranges::any_of(word, is_control)) return text.unexpected("printable text");
  return word;
}

Result<double> read_positive(const JsonCursor& number) {
  MGTUNE_ASSIGN(const double value, number.number());
  if (!(value > 0)) return number.unexpected("a number above 0");
  return value;
}

Result<std::string> read_time_stamp(const JsonCursor& text) {
  constexpr std::string_view kPattern = "0000-00-00T00:00:00Z";
  MGTUNE_ASSIGN(std::string word, text.string());
  bool matches = word.size() == kPattern.size();
  for (std::size_t i = 0; matches && i < kPattern.size(); ++i) {
    const bool is_digit = word[i] >= '0' && word[i] <= '9';
    matches = kPattern[i] == '0' ? is_digit : word[i] == kPattern[i];
  }
  if (!matches) return text.unexpected("a time in UTC such as \"2026-11-21T09:00:00Z\"");
  return word;
}

Result<std::string> read_method(const JsonCursor& method, const GpuRecord& gpu) {
  MGTUNE_ASSIGN(std::string word, method.identifier());
  if (word == kTokenMethod || (word == kEmulation) == gpu.emulation) return word;
  return method.unexpected(gpu.emulation ? "\"emulation\", as the cpu device has no other method"
                                         : "a method of timing on a GPU");
}

Result<const Operator*> checked_operator(const JsonCursor& name, Catalog& catalog) {
  MGTUNE_ASSIGN(const std::string word, read_text(name));
  const Result<const Operator*> op = catalog.find_operator(word);
  if (op.ok()) return *op;
  return name.error(op.status().message() + "; --kernel FOLDER reads a family of your own");
}

Result<ProblemRecord> checked_problem(const JsonCursor& text, const Operator& op) {
  MGTUNE_ASSIGN(const std::string words, read_text(text));
  const auto assignments = parse_assignments(words);
  if (!assignments.ok()) return text.error(assignments.status().message());
  const Result<Problem> problem = bind_problem(op, *assignments);
  if (!problem.ok()) return text.error(problem.status().message());
  const Result<std::int64_t> bytes = op.bytes.evaluate(problem->slots);
  if (!bytes.ok()) return text.error(bytes.status().message());
  const Result<std::int64_t> flops = op.flops.evaluate(problem->slots);
  if (!flops.ok()) return text.error(flops.status().message());
  return ProblemRecord{op.full_name(), problem->text(), static_cast<double>(*bytes),
                       static_cast<double>(*flops), key_of(*problem)};
}

Result<std::string> checked_variant(const JsonCursor& design, const JsonCursor& values,
                                    const Operator& op) {
  VariantWords words;
  MGTUNE_ASSIGN(words.design, design.identifier());
  const auto found = std::ranges::find(op.designs, words.design, &Design::name);
  const bool is_known = found != op.designs.end();
  std::span<const Parameter> parameters;  // none if the design is unknown: parse_variant() says so
  if (is_known) parameters = found->params;
  for (const Parameter& parameter : parameters) {
    const std::optional<JsonCursor> value = values.find(parameter.name);
    if (!value) return values.error("no parameter '" + parameter.name + "'");
    MGTUNE_ASSIGN(std::string word, value->parameter_word());
    words.parameters.emplace_back(parameter.name, std::move(word));
  }
  const Result<Variant> variant = parse_variant(op, words.text());
  if (!variant.ok()) return (is_known ? values : design).error(variant.status().message());
  return variant_text(op, *variant);
}

}  // namespace mgtune

#include "exchange/formats.h"

#include <fmt/format.h>

#include <array>
#include <cctype>

namespace mgtune {
namespace {

// The character in the name of a document: a letter in lower case, and '-' for a character to which
// a file system or a shell may give a meaning.
char plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (std::isalnum(byte) != 0) return static_cast<char>(std::tolower(byte));
  return c == '_' || c == '=' || c == '.' ? c : '-';
}

Result<RecordedValue> recorded_value(const JsonCursor& value) {
  using Kind = JsonValue::Kind;
  const JsonValue& json = value.value();
  if (json.kind == Kind::boolean) {
    return RecordedValue{json.boolean ? 1.0 : 0.0, json.boolean ? "true" : "false"};
  }
  if (json.kind == Kind::integer || json.kind == Kind::number) {
    return RecordedValue{json.number, json.string};
  }
  if (json.kind == Kind::string) return RecordedValue{std::nullopt, json.string};
  return value.unexpected("number, boolean or string");
}

}  // namespace

std::span<const ExchangeFormat> exchange_formats() {
  static const std::array formats = {tuned_table_format(), kernel_tuner_format(), t4_format(),
                                     csv_format()};
  return formats;
}

std::string document_name(const std::vector<std::string>& parts) {
  std::string name;
  for (const std::string& part : parts) {
    if (!name.empty()) name += '.';
    for (const char c : part) name += plain(c);
  }
  if (name.starts_with('.')) name.front() = '-';
  return name;
}

std::string gpu_word(const GpuRecord& gpu) {
  return gpu.mig_profile.empty() ? gpu.model : gpu.model + "-" + gpu.mig_profile;
}

Result<std::vector<RecordedValue>> recorded_values(const JsonCursor& configuration,
                                                   const std::vector<std::string>& parameters,
                                                   const std::string& missing) {
  std::vector<RecordedValue> values;
  for (const std::string& parameter : parameters) {
    const std::optional<JsonCursor> value = configuration.find(parameter);
    if (!value) return configuration.error(fmt::format("{} '{}'", missing, parameter));
    MGTUNE_ASSIGN(RecordedValue recorded, recorded_value(*value));
    values.push_back(std::move(recorded));
  }
  return values;
}

Result<double> recorded_time(const JsonCursor& value) {
  MGTUNE_ASSIGN(const double time, value.number());
  if (!(time > 0)) return value.unexpected("a time above 0");
  return time;
}

}  // namespace mgtune

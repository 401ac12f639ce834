#include "exchange/formats.h"

#include <array>
#include <cctype>

namespace mgtune {
namespace {

// A letter's case, and what a file system or a shell reads something into.
char plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (std::isalnum(byte) != 0) return static_cast<char>(std::tolower(byte));
  return c == '_' || c == '=' || c == '.' ? c : '-';
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

Result<RecordedValue> recorded_value(const JsonCursor& value) {
  switch (value.value().kind) {
    case JsonValue::Kind::boolean:
      return RecordedValue{value.value().boolean ? 1.0 : 0.0,
                           value.value().boolean ? "true" : "false"};
    case JsonValue::Kind::integer:
    case JsonValue::Kind::number:
      return RecordedValue{value.value().number, value.value().string};
    case JsonValue::Kind::string:
      return RecordedValue{std::nullopt, value.value().string};
    case JsonValue::Kind::null:
    case JsonValue::Kind::array:
    case JsonValue::Kind::object:
      break;
  }
  return value.unexpected("number, boolean or string");
}

Result<double> recorded_time(const JsonCursor& value) {
  MGTUNE_ASSIGN(const double time, value.number());
  if (!(time > 0)) return value.unexpected("a time above 0");
  return time;
}

}  // namespace mgtune

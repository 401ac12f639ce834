#include "exchange/json_text.h"

#include <nlohmann/json.hpp>

namespace mgtune {
namespace {

using Json = nlohmann::ordered_json;

std::string scalar(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string one_line(const Json& json) {
  if (!json.is_structured()) return scalar(json);
  std::string text;
  for (const auto& [key, value] : json.items()) {
    if (!text.empty()) text += ", ";
    if (json.is_object()) text += scalar(key) + ": ";
    text += one_line(value);
  }
  return json.is_object() ? "{" + text + "}" : "[" + text + "]";
}

std::string joined_lines(const std::vector<std::string>& lines, std::size_t indent) {
  std::string text;
  for (const std::string& line : lines) {
    if (!text.empty()) text += ",\n";
    text.append(indent, ' ');
    text += line;
  }
  return text;
}

}  // namespace mgtune

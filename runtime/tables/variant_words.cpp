#include "tables/variant_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/text.h"
#include "json/json.h"

namespace mgtune {
namespace {

bool is_boolean(const std::string& word) { return word == "true" || word == "false"; }

int rank(const std::string& word) {
  if (parse_number<std::int64_t>(word)) return 0;
  return is_boolean(word) ? 1 : 2;
}

}  // namespace

std::string VariantWords::text() const {
  std::string text = design;
  for (const auto& [name, value] : parameters) text += fmt::format(" {}={}", name, value);
  return text;
}

const std::string* VariantWords::find(std::string_view parameter) const {
  for (const auto& [name, value] : parameters) {
    if (name == parameter) return &value;
  }
  return nullptr;
}

VariantWords split_variant(std::string_view text) {
  VariantWords words;
  bool is_first = true;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t equals = word.find('=');
    if (is_first) {
      words.design = word;
    } else if (equals != std::string_view::npos) {
      words.parameters.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    }
    is_first = false;
  }
  return words;
}

bool is_value_before(const std::string& a, const std::string& b) {
  return std::tuple(rank(a), parse_number<std::int64_t>(a).value_or(0), a) <
         std::tuple(rank(b), parse_number<std::int64_t>(b).value_or(0), b);
}

Json json_value(const std::string& word) {
  if (is_boolean(word)) return word == "true";
  if (const auto number = parse_number<std::int64_t>(word)) return *number;
  return word;
}

std::string python_text(const std::string& word) {
  if (is_boolean(word)) return word == "true" ? "True" : "False";
  return word;
}

Result<std::string> value_word(const JsonCursor& value) {
  const Result<std::string> word = value.word();
  const bool is_string = value.value().kind == JsonValue::Kind::string;
  if (word.ok() && (!is_string || is_identifier(*word))) return word;
  return value.unexpected("integer, boolean or identifier");
}

}  // namespace mgtune

#include "core/variant_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/text.h"

namespace mgtune {
namespace {

int rank(const std::string& word) {
  if (whole_number(word)) return 0;
  return is_boolean(word) ? 1 : 2;
}

}  // namespace

std::vector<Assignment> assignments(std::string_view text) {
  std::vector<Assignment> result;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    result.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return result;
}

std::string VariantWords::text() const {
  std::string text = design;
  for (const auto& [name, value] : parameters) {
    text.append(" ").append(name).append("=").append(value);
  }
  return text;
}

const std::string* VariantWords::find(std::string_view parameter) const {
  for (const auto& [name, value] : parameters) {
    if (name == parameter) return &value;
  }
  return nullptr;
}

bool is_value_word(std::string_view word) {
  constexpr std::size_t kLongest = 64;
  constexpr std::string_view kCharacters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:+-*<>&";
  return !word.empty() && word.size() <= kLongest &&
         word.find_first_not_of(kCharacters) == word.npos;
}

std::string real_text(double value) {
  std::string text = fmt::format("{}", value == 0 ? 0.0 : value);  // -0 is 0
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

bool is_real_text(std::string_view word) {
  const auto value = parse_number<double>(word);
  return value && std::isfinite(*value) && real_text(*value) == word;
}

VariantWords split_variant(std::string_view text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  VariantWords words{std::string(text.substr(0, end)), assignments(text.substr(end))};
  const auto is_name = [&](const Assignment& each) {
    return !each.first.empty() &&
           std::ranges::count(words.parameters, each.first, &Assignment::first) == 1;
  };
  const bool is_variant = std::ranges::all_of(words.parameters, is_name) && words.text() == text;
  return is_variant ? words : VariantWords{std::string(text), {}};
}

bool is_value_before(const std::string& a, const std::string& b) {
  return std::tuple(rank(a), whole_number(a).value_or(0), a) <
         std::tuple(rank(b), whole_number(b).value_or(0), b);
}

std::string python_text(const std::string& word) {
  if (is_boolean(word)) return word == "true" ? "True" : "False";
  return word;
}

}  // namespace mgtune

#include "json/json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "core/text.h"

namespace mgtune {
namespace {

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

void append_quoted(std::string& text, const std::string& value) {
  if (std::ranges::all_of(value, is_plain)) {
    text.append("\"").append(value).append("\"");
  } else {
    text += nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
}

// Writes the fewest digits that give the number again.
void append_number(std::string& text, double value) {
  if (!std::isfinite(value)) {
    text += "null";
    return;
  }
  std::array<char, 64> digits = {};
  // The library's own function: a whole nlohmann::json per number takes twice the time.
  char* const start = digits.data();
  text.append(start, nlohmann::detail::to_chars(start, start + digits.size(), value));
}

}  // namespace

struct Json::Layout {
  std::string_view after_comma, after_colon;
  bool is_indented;
};

Json::Json(std::initializer_list<Member> members) : value_(Object(members)) {}

Json Json::of_word(std::string_view word) {
  if (is_boolean(word)) return word == "true";
  if (const auto number = whole_number(word)) return *number;
  return word;
}

Json& Json::operator[](std::string_view key) {
  auto& members = std::get<Object>(value_);
  const auto found = std::ranges::find(members, key, &Member::first);
  if (found != members.end()) return found->second;
  return members.emplace_back(Member(std::string(key), {})).second;
}

void Json::push_back(Json item) { std::get<Array>(value_).push_back(std::move(item)); }

Json& Json::back() { return std::get<Array>(value_).back(); }

void Json::update(Json object) {
  for (Member& member : std::get<Object>(object.value_)) {
    (*this)[member.first] = std::move(member.second);
  }
}

std::string Json::text(const Layout& layout) const {
  std::string text;
  append_to(text, layout, 0);
  return text;
}

std::string Json::compact_text() const { return text({"", "", false}); }
std::string Json::line_text() const { return text({" ", " ", false}); }
std::string Json::document_text() const { return text({"", " ", true}) + '\n'; }

void Json::append_to(std::string& text, const Layout& layout, std::size_t level) const {
  const auto new_line = [&](std::size_t to_level) {
    if (layout.is_indented) text.append("\n").append(2 * to_level, ' ');
  };
  const auto append_all = [&](const auto& items, char open, char close, const auto& append_one) {
    text += open;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) text.append(",").append(layout.after_comma);
      new_line(level + 1);
      append_one(items[i]);
    }
    if (!items.empty()) new_line(level);
    text += close;
  };
  const auto append_value = [&]<typename Value>(const Value& value) {
    if constexpr (std::is_same_v<Value, std::nullptr_t>) {
      text += "null";
    } else if constexpr (std::is_same_v<Value, bool>) {
      text += value ? "true" : "false";
    } else if constexpr (std::is_integral_v<Value>) {
      text += std::to_string(value);
    } else if constexpr (std::is_same_v<Value, double>) {
      append_number(text, value);
    } else if constexpr (std::is_same_v<Value, std::string>) {
      append_quoted(text, value);
    } else if constexpr (std::is_same_v<Value, Array>) {
      append_all(value, '[', ']',
                 [&](const Json& item) { item.append_to(text, layout, level + 1); });
    } else {
      append_all(value, '{', '}', [&](const Member& member) {
        append_quoted(text, member.first);
        text.append(":").append(layout.after_colon);
        member.second.append_to(text, layout, level + 1);
      });
    }
  };
  std::visit(append_value, value_);
}

Json number_or_word(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

}  // namespace mgtune

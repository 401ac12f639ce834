#include "expression/token.h"

#include <algorithm>
#include <array>

namespace mgtune {
namespace {

constexpr std::array<std::string_view, 6> kLongSigns = {"==", "!=", "<=", ">=", "&&", "||"};
constexpr std::string_view kShortSigns = "+-*/%<>!?:(),";

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return starts_name(c) || is_ascii_digit(c); }

// The length of "name" or "name.name.name"; a dot that no name follows is not part of it.
std::size_t name_length(std::string_view text) {
  std::size_t length = 0;
  while (true) {
    while (length < text.size() && continues_name(text[length])) ++length;
    const bool goes_on =
        length + 1 < text.size() && text[length] == '.' && starts_name(text[length + 1]);
    if (!goes_on) return length;
    ++length;
  }
}

std::size_t number_length(std::string_view text) {
  const auto end = std::ranges::find_if_not(text, is_ascii_digit);
  return static_cast<std::size_t>(end - text.begin());
}

// The length of what follows the digits of a number: ".5", "e-3", ".5e3". 0: it is an integer.
std::size_t fraction_length(std::string_view text) {
  std::size_t length = 0;
  if (text.size() > 1 && text[0] == '.' && is_ascii_digit(text[1])) {
    length = 1 + number_length(text.substr(1));
  }
  std::string_view rest = text.substr(length);
  if (!rest.starts_with('e') && !rest.starts_with('E')) return length;
  rest.remove_prefix(1);
  const std::size_t sign = rest.starts_with('-') || rest.starts_with('+') ? 1 : 0;
  const std::size_t digits = number_length(rest.substr(sign));
  return digits == 0 ? length : length + 1 + sign + digits;
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80; }

}  // namespace

Token token_at(std::string_view text, std::size_t place) {
  constexpr std::string_view kBlanks = " \t\r\n";
  place = std::min(text.find_first_not_of(kBlanks, std::min(place, text.size())), text.size());
  const std::string_view rest = text.substr(place);
  if (rest.empty()) return {Token::Kind::end, rest, place};
  if (is_ascii_digit(rest[0])) {
    const std::size_t digits = number_length(rest);
    const std::size_t fraction = fraction_length(rest.substr(digits));
    return {fraction > 0 ? Token::Kind::real : Token::Kind::number,
            rest.substr(0, digits + fraction), place};
  }
  if (const std::size_t end = rest.find('\'', 1); rest[0] == '\'' && end != rest.npos) {
    return {Token::Kind::quoted, rest.substr(0, end + 1), place};
  }
  if (starts_name(rest[0])) return {Token::Kind::name, rest.substr(0, name_length(rest)), place};
  if (std::ranges::find(kLongSigns, rest.substr(0, 2)) != kLongSigns.end()) {
    return {Token::Kind::sign, rest.substr(0, 2), place};
  }
  if (kShortSigns.find(rest[0]) != std::string_view::npos) {
    return {Token::Kind::sign, rest.substr(0, 1), place};
  }
  std::size_t length = 1;
  while (length < rest.size() && continues_character(rest[length])) ++length;
  return {Token::Kind::unknown, rest.substr(0, length), place};
}

std::string in_quotes(std::string_view word) { return "'" + std::string(word) + "'"; }

std::string with_caret(std::string message, std::string_view text, std::size_t place,
                       std::size_t length) {
  message += "\n  ";
  for (const char c : text) message += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  message += "\n  ";
  for (const char c : text.substr(0, place)) {
    if (!continues_character(c)) message += ' ';
  }
  message += '^';
  bool first = true;
  for (const char c : text.substr(std::min(place, text.size()), length)) {
    if (!first && !continues_character(c)) message += '~';
    first = false;
  }
  return message;
}

}  // namespace mgtune

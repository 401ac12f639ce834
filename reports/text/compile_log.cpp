#include "text/compile_log.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "core/text.h"

namespace mgtune {
namespace {

bool is_symbol_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.';
}

// The last name before the template arguments of a symbol of the Itanium ABI: "scale" of
// "_ZN3own5scaleIfEEvPf". The symbol itself if it is of another form.
std::string name_in(std::string_view symbol) {
  std::string_view rest = symbol.substr(2);
  if (rest.starts_with('N')) rest.remove_prefix(1);
  std::string_view name;
  while (!rest.empty() && std::isdigit(static_cast<unsigned char>(rest.front())) != 0) {
    std::size_t digits = 1;
    while (digits < rest.size() && std::isdigit(static_cast<unsigned char>(rest[digits])) != 0) {
      ++digits;
    }
    const auto length = parse_number<std::size_t>(rest.substr(0, digits));
    rest.remove_prefix(digits);
    if (!length || *length == 0 || *length > rest.size()) return std::string(symbol);
    name = rest.substr(0, *length);
    rest.remove_prefix(*length);
  }
  return std::string(name.empty() ? symbol : name);
}

std::string with_names(std::string_view line) {
  std::string text;
  while (!line.empty()) {
    std::size_t end = 0;
    while (end < line.size() && is_symbol_character(line[end])) ++end;
    const std::string_view word = line.substr(0, end);
    text += word.starts_with("_Z") ? name_in(word) : std::string(word);
    if (end < line.size()) text += line[end++];
    line.remove_prefix(end);
  }
  return text;
}

}  // namespace

std::string readable_log(std::string_view log) {
  std::string text;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(log.size(), line.size() + 1));
    const bool is_empty = line.find_first_not_of(" \t\r") == std::string_view::npos;
    if (is_empty || line.find("Compile time = ") != std::string_view::npos) continue;
    text.append(text.empty() ? "" : "\n").append(with_names(line));
  }
  return text;
}

}  // namespace mgtune

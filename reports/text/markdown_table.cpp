#include "text/markdown_table.h"

#include <cstddef>

#include "text/printable.h"

namespace mgtune {

std::string markdown_plain(std::string_view text) {
  static constexpr std::string_view kSpecial = "\\`*_[]|~";
  std::string result;
  for (const char c : printable_line(text)) {
    if (c == '<') {
      result += "&lt;";
    } else if (c == '&') {
      result += "&amp;";
    } else {
      if (kSpecial.find(c) != std::string_view::npos) result += '\\';
      result += c;
    }
  }
  return result;
}

MarkdownTable::MarkdownTable(const std::vector<std::string>& titles) {
  add(titles);
  for (std::size_t i = 0; i < titles.size(); ++i) text_ += i == 0 ? "|---|" : "---|";
  text_ += '\n';
}

void MarkdownTable::add(const std::vector<std::string>& cells) {
  text_ += '|';
  for (const std::string& cell : cells) text_ += " " + markdown_plain(cell) + " |";
  text_ += '\n';
}

}  // namespace mgtune

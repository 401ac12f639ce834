#include "model/folded.h"

#include <algorithm>

#include "text/printable.h"

namespace mgtune {
namespace {

constexpr std::size_t kIndent = 4;

std::string folded_line(std::string_view line, std::size_t width) {
  if (display_width(line) <= width) return std::string(line);
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const std::string hanging(indent + kIndent, ' ');
  std::string result(indent, ' ');
  std::size_t column = indent;
  bool first = true;
  for (std::size_t at = indent; at < line.size();) {
    const std::size_t word = std::min(line.find_first_not_of(' ', at), line.size());
    const std::size_t end = std::min(line.find(' ', word), line.size());
    const std::size_t wide = (word - at) + display_width(line.substr(word, end - word));
    if (!first && column + wide > width) {
      result += '\n' + hanging;
      column = hanging.size();
      at = word;
    }
    result += line.substr(at, end - at);
    column += (word - at) + display_width(line.substr(word, end - word));
    first = false;
    at = end;
  }
  return result;
}

}  // namespace

std::string folded(std::string_view text, std::size_t width) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    result += folded_line(text.substr(0, end), width);
    if (end == std::string_view::npos) break;
    result += '\n';
    text.remove_prefix(end + 1);
  }
  return result;
}

}  // namespace mgtune

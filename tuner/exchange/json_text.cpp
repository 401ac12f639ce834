#include "exchange/json_text.h"

namespace mgtune {

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

#include "compiler/include_scan.h"

#include <algorithm>

namespace mgtune {
namespace {

constexpr std::string_view kBlanks = " \t\v\f\r";

// Joins lines that end in a backslash with the next one, as the compiler does.
std::string splice_lines(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\\') {
      if (source.substr(i + 1).starts_with('\n')) {
        ++i;
        continue;
      }
      if (source.substr(i + 1).starts_with("\r\n")) {
        i += 2;
        continue;
      }
    }
    text += source[i];
  }
  return text;
}

// Removes blanks and /* comments */ from the front. Returns false if a comment does not end on the
// line.
bool skip_blanks(std::string_view& line) {
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    if (!line.starts_with("/*")) return true;
    const std::size_t end = line.find("*/", 2);
    if (end == std::string_view::npos) return false;
    line.remove_prefix(end + 2);
  }
}

bool skip(std::string_view& line, std::string_view token) {
  if (!line.starts_with(token)) return false;
  line.remove_prefix(token.size());
  return true;
}

// `rest` is the text after a '#'.
void scan_directive(std::string_view rest, IncludeScan& scan) {
  if (!skip_blanks(rest)) {
    scan.computed = true;  // the next lines could go on with "include"
    return;
  }
  if (!skip(rest, "include_next") && !skip(rest, "include") && !skip(rest, "import")) return;
  const bool whole = skip_blanks(rest);
  const char close = rest.starts_with('"') ? '"' : '>';
  const std::size_t end = rest.find(close, 1);
  if (whole && (rest.starts_with('"') || rest.starts_with('<')) && end != std::string_view::npos) {
    scan.files.emplace_back(rest.substr(1, end - 1));
  } else {
    scan.computed = true;
  }
}

// A directive may come after the end of a comment that began lines before, so every '#' counts.
void scan_line(std::string_view line, IncludeScan& scan) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#') scan_directive(line.substr(i + 1), scan);
    if (line.substr(i).starts_with("%:")) scan_directive(line.substr(i + 2), scan);
  }
}

}  // namespace

IncludeScan scan_includes(std::string_view source) {
  IncludeScan scan;
  const std::string text = splice_lines(source);
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    scan_line(rest.substr(0, end), scan);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return scan;
}

}  // namespace mgtune

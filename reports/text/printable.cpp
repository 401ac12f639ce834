#include "text/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/utf8.h"

namespace mgtune {
namespace {

bool within(char32_t code, char32_t first, char32_t last) { return code >= first && code <= last; }

bool is_plain(char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\t'; }

bool is_control(char32_t code) {
  if (code == '\n' || code == '\t') return false;
  return code < 0x20 || within(code, 0x7F, 0x9F);
}

bool is_direction_override(char32_t code) {
  return within(code, 0x202A, 0x202E) || within(code, 0x2066, 0x2069) ||
         within(code, 0x200E, 0x200F);
}

std::size_t width(char32_t code) {
  if (within(code, 0x300, 0x36F) || within(code, 0x200B, 0x200D) || within(code, 0xFE00, 0xFE0F)) {
    return 0;
  }
  const bool wide = within(code, 0x1100, 0x115F) || within(code, 0x2E80, 0xA4CF) ||
                    within(code, 0xAC00, 0xD7A3) || within(code, 0xF900, 0xFAFF) ||
                    within(code, 0xFE30, 0xFE6F) || within(code, 0xFF00, 0xFF60) ||
                    within(code, 0xFFE0, 0xFFE6) || within(code, 0x1F300, 0x1FAFF) ||
                    within(code, 0x20000, 0x3FFFD);
  return wide ? 2 : 1;
}

constexpr std::size_t kContinuationIndent = 4;

std::string folded_line(std::string_view line, std::size_t width) {
  if (display_width(line) <= width) return std::string(line);
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const std::string hanging(indent + kContinuationIndent, ' ');
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

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (true) {
    const auto plain = std::ranges::find_if_not(text, is_plain) - text.begin();
    result += text.substr(0, static_cast<std::size_t>(plain));
    text.remove_prefix(static_cast<std::size_t>(plain));
    if (text.empty()) return result;
    const Utf8Character next = decode_utf8(text);
    if (next.code == kInvalidUtf8) {
      result += kUtf8Replacement;
    } else if (is_control(next.code)) {
      result += fmt::format("\\x{:02x}", static_cast<std::uint32_t>(next.code));
    } else if (is_direction_override(next.code)) {
      result += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(next.code));
    } else {
      result += text.substr(0, next.size);
    }
    text.remove_prefix(next.size);
  }
}

std::string printable_line(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t start = text.find_first_not_of(kBlank);
  if (start == std::string_view::npos) return "";
  const std::size_t line_end = std::min(text.find('\n', start), text.size());
  const std::size_t last = text.find_last_not_of(kBlank, line_end - 1);
  const bool more = text.find_first_not_of(kBlank, line_end) != std::string_view::npos;
  std::string line = printable(text.substr(start, last + 1 - start));
  for (char& c : line) {
    if (c == '\t') c = ' ';
  }
  return more ? line + " ..." : line;
}

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Utf8Character next = decode_utf8(text);
    columns += next.code == kInvalidUtf8 ? 1 : width(next.code);
    text.remove_prefix(next.size);
  }
  return columns;
}

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

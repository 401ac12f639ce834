#include "json/json_place.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "json/json_value.h"

namespace mgtune {
namespace {

// Steps over JSON values without building them. After a mistake in the text it stays at the end.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) { skip_blanks(); }

  std::size_t position() const { return at_; }
  bool is_at_end() const { return at_ >= text_.size(); }

  // Goes to the member or element that the pointer's step names. False, and the scanner is anywhere
  // behind, if there is none.
  bool enter(std::string_view step) {
    if (take('{')) return find_member(step);
    if (!take('[')) return false;
    const auto index = parse_number<std::size_t>(step);
    for (std::size_t i = 0; index && !is_at_end() && peek() != ']'; ++i) {
      if (i == *index) return true;
      skip_value();
      take(',');
    }
    return false;
  }

 private:
  char peek() const { return is_at_end() ? '\0' : text_[at_]; }

  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    skip_blanks();
    return true;
  }

  // The text between the quotes, with its escapes. Keys with escapes are rare and not found.
  std::string_view take_string() {
    const std::size_t begin = ++at_;
    while (!is_at_end() && peek() != '"') at_ += peek() == '\\' ? 2 : 1;
    const std::size_t end = std::min(at_, text_.size());
    at_ = end + (end < text_.size() ? 1 : 0);
    skip_blanks();
    return text_.substr(begin, end - begin);
  }

  bool find_member(std::string_view step) {
    while (peek() == '"') {
      const std::string key(take_string());
      if (!take(':')) return false;
      if (pointer_step(key) == step) return true;
      skip_value();
      take(',');
    }
    return false;
  }

  void skip_value() {
    std::size_t level = 0;
    do {
      if (peek() == '"') {
        take_string();
      } else if (take('{') || take('[')) {
        ++level;
        continue;
      } else if (level > 0 && (take('}') || take(']'))) {
        --level;
      } else if (level > 0 && (take(',') || take(':'))) {
        continue;
      } else {
        const std::size_t end = std::min(text_.find_first_of(" \t\r\n,:[]{}\"", at_), text_.size());
        at_ = std::max(end, std::min(at_ + 1, text_.size()));
        skip_blanks();
      }
    } while (level > 0 && !is_at_end());
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string place_in_json(std::string_view text, std::string_view pointer) {
  Scanner scanner(text);
  std::size_t found = scanner.position();
  for (std::size_t begin = 1; begin <= pointer.size() && !pointer.empty();) {
    const std::size_t end = std::min(pointer.find('/', begin), pointer.size());
    if (!scanner.enter(pointer.substr(begin, end - begin))) break;
    found = scanner.position();
    begin = end + 1;
  }
  if (found >= text.size()) return "";
  const std::string_view before = text.substr(0, found);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("line {}, column {}", 1 + std::ranges::count(before, '\n'),
                     found - line_start + 1);
}

namespace {

std::string line_with_place(const std::string& line, FileSystem& file_system) {
  constexpr std::string_view kFileEnd = ".json: ";
  constexpr std::string_view kUnknownKey = "unknown key '";
  const std::size_t file_end = line.find(kFileEnd);
  if (file_end == std::string::npos) return line;
  const std::size_t context = line.rfind(": ", file_end);
  const std::size_t file_begin = context == std::string::npos ? 0 : context + 2;
  const std::string file = line.substr(file_begin, file_end + 5 - file_begin);
  const std::string rest = line.substr(file_end + kFileEnd.size());
  std::string pointer = rest.starts_with('/') ? rest.substr(0, rest.find(": ")) : "";
  if (const std::size_t key = rest.find(kUnknownKey); key != std::string::npos) {
    const std::size_t begin = key + kUnknownKey.size();
    pointer += "/" + pointer_step(rest.substr(begin, rest.find('\'', begin) - begin));
  }
  if (pointer.empty()) return line;
  const Result<std::string> text = file_system.read_file(file);
  if (!text.ok()) return line;
  const std::string place = place_in_json(*text, pointer);
  return place.empty() ? line : line + " (" + place + ")";
}

}  // namespace

std::string with_json_place(const std::string& message, FileSystem& file_system) {
  std::string text;
  for (std::size_t begin = 0; begin <= message.size();) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    if (begin > 0) text += '\n';
    text += line_with_place(message.substr(begin, end - begin), file_system);
    begin = end + 1;
  }
  return text;
}

}  // namespace mgtune

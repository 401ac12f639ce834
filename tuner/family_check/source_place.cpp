#include "family_check/source_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "json/json_value.h"

namespace mgtune {
namespace {

// Walks through a text that parse_json() accepts, so every step may assume that it is valid.
class JsonWalk {
 public:
  explicit JsonWalk(std::string_view text) : text_(text) { skip_blanks(); }

  std::size_t at() const { return at_; }

  // Moves from the start of an object or array to the start of its value for `step`. False if there
  // is no such value.
  bool enter(std::string_view step) {
    const bool is_object = current() == '{';
    if (!is_object && current() != '[') return false;
    advance();
    for (std::size_t index = 0; current() != '}' && current() != ']' && current() != 0; ++index) {
      std::string key = std::to_string(index);
      if (is_object) {
        const std::size_t begin = at_ + 1;
        skip_value();
        key = pointer_step(text_.substr(begin, text_.rfind('"', at_ - 1) - begin));
        advance();  // the colon
      }
      if (key == step) return true;
      skip_value();
      if (current() == ',') advance();
    }
    return false;
  }

 private:
  char current() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
  }
  void advance() {
    ++at_;
    skip_blanks();
  }
  void skip_string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }
  void skip_value() {
    int depth = 0;
    do {
      const char c = current();
      if (c == '"') {
        skip_string();
        skip_blanks();
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      if (depth == 0 && c != '}' && c != ']') {
        while (at_ < text_.size() && std::string_view(",]} \t\r\n").find(text_[at_]) == text_.npos)
          ++at_;
        skip_blanks();
        continue;
      }
      advance();
    } while (depth > 0 && at_ < text_.size());
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

int line_of_pointer(std::string_view json, std::string_view pointer) {
  JsonWalk walk(json);
  std::size_t at = walk.at();
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    if (!walk.enter(pointer.substr(0, end))) break;
    at = walk.at();
    pointer.remove_prefix(end);
  }
  return 1 + static_cast<int>(std::ranges::count(json.substr(0, at), '\n'));
}

std::string place_with_line(const Operator& op, const std::string& pointer) {
  const std::string& file = op.text->file_of(pointer);
  const std::string& folder = op.sources->folder;
  if (file.starts_with(folder + "/")) {
    const auto text = op.sources->files.find(file.substr(folder.size() + 1));
    if (text != op.sources->files.end()) {
      return fmt::format("{}:{}: {}", file, line_of_pointer(text->second, pointer), pointer);
    }
  }
  return op.place(pointer);
}

}  // namespace mgtune

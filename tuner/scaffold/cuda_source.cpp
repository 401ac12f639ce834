#include "scaffold/cuda_source.h"

#include <algorithm>
#include <array>
#include <utility>

namespace mgtune {
namespace {

// No ">>": two template lists may end there.
constexpr std::array<std::string_view, 20> kLongMarks = {
    "::", "->", "++", "--", "==", "!=", "<=", ">=", "+=", "-=",
    "*=", "/=", "%=", "&=", "|=", "^=", "&&", "||", "<<", "##"};

bool starts_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool in_word(char c) { return starts_word(c) || is_digit(c); }

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

class CudaReader {
 public:
  explicit CudaReader(CudaSource& source) : source_(source), text_(source.text) {}

  void read() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        ++at_;
        line_begins_ = true;
      } else if (is_blank(c) || continues_line()) {
        ++at_;
      } else if (!skip_comment()) {
        if (c == '#' && line_begins_) {
          read_directive();
        } else {
          read_token();
        }
        line_begins_ = false;
      }
    }
    source_.tokens.push_back({CudaToken::Kind::end, "", line_, text_.size()});
  }

 private:
  bool starts(std::string_view mark) const { return text_.substr(at_).starts_with(mark); }
  bool continues_line() const { return starts("\\\n") || starts("\\\r\n"); }

  void advance_to(std::size_t end) {
    end = std::min(end, text_.size());
    line_ += static_cast<int>(std::ranges::count(text_.substr(at_, end - at_), '\n'));
    at_ = end;
  }

  bool skip_comment() {
    if (starts("//")) {
      advance_to(text_.find('\n', at_));
      return true;
    }
    if (!starts("/*")) return false;
    const std::size_t end = text_.find("*/", at_ + 2);
    advance_to(end == std::string_view::npos ? end : end + 2);
    return true;
  }

  void read_directive() {
    CudaDirective directive{"", "", line_, at_, 0};
    ++at_;
    std::string content;
    while (at_ < text_.size() && text_[at_] != '\n') {
      if (continues_line()) {
        advance_to(text_.find('\n', at_) + 1);
        content += ' ';
      } else if (skip_comment()) {
        content += ' ';
      } else {
        content += text_[at_++];
      }
    }
    directive.end = at_;
    const std::size_t begin = std::min(content.find_first_not_of(" \t"), content.size());
    const std::size_t end =
        std::min(content.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", begin), content.size());
    directive.name = content.substr(begin, end - begin);
    const std::size_t rest = content.find_first_not_of(" \t", end);
    if (rest != std::string::npos) {
      directive.rest = content.substr(rest, content.find_last_not_of(" \t\r") + 1 - rest);
    }
    source_.directives.push_back(std::move(directive));
  }

  void read_token() {
    const char c = text_[at_];
    const int line = line_;
    const std::size_t begin = at_;
    auto kind = CudaToken::Kind::mark;
    if (c == '"' || c == '\'') {
      kind = CudaToken::Kind::text;
      skip_text(c);
    } else if (starts_word(c)) {
      kind = CudaToken::Kind::word;
      while (at_ < text_.size() && in_word(text_[at_])) ++at_;
    } else if (is_digit(c)) {
      kind = CudaToken::Kind::number;
      while (at_ < text_.size() && (in_word(text_[at_]) || text_[at_] == '.' ||
                                    text_[at_] == '\'' || is_sign_of_exponent())) {
        ++at_;
      }
    } else {
      const auto* const found =
          std::ranges::find_if(kLongMarks, [this](std::string_view mark) { return starts(mark); });
      at_ += found == kLongMarks.end() ? 1 : found->size();
    }
    source_.tokens.push_back({kind, std::string(text_.substr(begin, at_ - begin)), line, begin});
  }

  bool is_sign_of_exponent() const {
    const char c = text_[at_], before = text_[at_ - 1];
    return (c == '+' || c == '-') && (before == 'e' || before == 'E');
  }

  void skip_text(char quote) {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') {
      end += text_[end] == '\\' ? 2 : 1;
    }
    advance_to(end + 1);
  }

  CudaSource& source_;
  const std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_begins_ = true;
};

std::string_view closing(std::string_view open) {
  if (open == "(") return ")";
  if (open == "[") return "]";
  return open == "{" ? "}" : ">";
}

}  // namespace

std::size_t CudaSource::after_bracket(std::size_t open) const {
  const std::string_view opens = tokens[open].text, closes = closing(opens);
  int depth = 0;
  std::size_t i = open;
  while (i + 1 < tokens.size()) {
    // In template <int N = (a > b)> the comparison stands in parentheses.
    if (opens == "<" && is(i, "(")) {
      i = after_bracket(i);
      continue;
    }
    if (is(i, opens)) ++depth;
    if (is(i, closes)) --depth;
    ++i;
    if (depth == 0) return i;
  }
  return tokens.size() - 1;
}

CudaSource read_cuda_source(std::string file, std::string text) {
  CudaSource source{std::move(file), std::move(text), {}, {}};
  CudaReader(source).read();
  return source;
}

}  // namespace mgtune

#include "family_check/kernel_functions.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "compiler/include_scan.h"

namespace mgtune {
namespace {

constexpr std::string_view kGlobal = "__global__";
// The words with an argument list that may stand between __global__ and the function's name.
constexpr std::array<std::string_view, 5> kAttributes = {
    "__launch_bounds__", "__maxnreg__", "__cluster_dims__", "__attribute__", "alignas"};

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The text, with blanks in place of comments and of the content of strings. Lines keep their
// numbers.
std::string without_comments(std::string text) {
  const auto blank = [&text](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < std::min(end, text.size()); ++i) {
      if (text[i] != '\n') text[i] = ' ';
    }
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = std::string_view(text).substr(i);
    if (rest.starts_with("//")) {
      const std::size_t end = std::min(text.find('\n', i), text.size());
      blank(i, end);
      i = end;
    } else if (rest.starts_with("/*")) {
      const std::size_t end = text.find("*/", i + 2);
      blank(i, end == std::string::npos ? text.size() : end + 2);
    } else if (rest.starts_with('"')) {
      std::size_t end = i + 1;
      while (end < text.size() && text[end] != '"' && text[end] != '\n') {
        end += text[end] == '\\' ? 2 : 1;
      }
      blank(i + 1, end);
      i = end;
    }
  }
  return text;
}

// The place of the next occurrence of `word` as a whole word, at or after `at`; npos if there is
// none.
std::size_t find_word(std::string_view text, std::string_view word, std::size_t at) {
  for (; (at = text.find(word, at)) != std::string_view::npos; at += word.size()) {
    const bool starts = at == 0 || !is_word_char(text[at - 1]);
    const std::size_t end = at + word.size();
    if (starts && (end == text.size() || !is_word_char(text[end]))) return at;
  }
  return std::string_view::npos;
}

// The place behind the bracket that closes the one at `open`.
std::size_t end_of_brackets(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i + 1;
  }
  return text.size();
}

std::string last_word(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0 && !is_word_char(text[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_word_char(text[begin - 1])) --begin;
  return std::string(text.substr(begin, end - begin));
}

std::vector<std::string> parameter_names(std::string_view list) {
  std::vector<std::string> names;
  int depth = 0;
  std::size_t begin = 0;
  const auto add = [&](std::size_t end) {
    const std::string_view one = list.substr(begin, end - begin);
    if (one.find_first_not_of(" \t\r\n") != std::string_view::npos) {
      names.push_back(last_word(one.substr(0, one.find_first_of("=["))));
    }
    begin = end + 1;
  };
  for (std::size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (c == '(' || c == '<' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == '>' || c == ']' || c == '}') --depth;
    if (c == ',' && depth == 0) add(i);
  }
  add(list.size());
  return names;
}

// The function whose __global__ ends at `at`.
std::optional<KernelFunction> function_behind(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] != ';' && text[at] != '{') {
    if (!is_word_char(text[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < text.size() && is_word_char(text[at])) ++at;
    const std::string_view word = text.substr(begin, at - begin);
    const std::size_t open = text.find_first_not_of(" \t\r\n", at);
    if (open == std::string_view::npos || text[open] != '(') continue;
    const std::size_t end = end_of_brackets(text, open);
    if (std::ranges::find(kAttributes, word) != kAttributes.end()) {
      at = end;
      continue;
    }
    KernelFunction function;
    function.name = word;
    function.line = 1 + static_cast<int>(std::ranges::count(text.substr(0, begin), '\n'));
    function.parameters = parameter_names(text.substr(open + 1, end - open - 2));
    return function;
  }
  return std::nullopt;
}

// `source` and the files of the tree that it includes, directly or through others.
std::vector<std::string> files_of(const SourceTree& sources, const std::string& source) {
  std::vector<std::string> files = {source};
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto content = sources.files.find(files[i]);
    if (content == sources.files.end()) continue;
    const std::size_t slash = files[i].rfind('/');
    const std::string folder =
        slash == std::string::npos ? std::string() : files[i].substr(0, slash + 1);
    for (const std::string& included : scan_includes(content->second).files) {
      for (const std::string& path : {folder + included, included}) {
        if (!sources.files.contains(path) || std::ranges::find(files, path) != files.end())
          continue;
        files.push_back(path);
        break;
      }
    }
  }
  return files;
}

}  // namespace

std::vector<KernelFunction> kernel_functions(const SourceTree& sources, const std::string& source) {
  std::vector<KernelFunction> functions;
  for (const std::string& file : files_of(sources, source)) {
    const auto content = sources.files.find(file);
    if (content == sources.files.end()) continue;
    const std::string text = without_comments(content->second);
    for (std::size_t at = 0; (at = find_word(text, kGlobal, at)) != std::string::npos;) {
      at += kGlobal.size();
      std::optional<KernelFunction> function = function_behind(text, at);
      if (!function) continue;
      function->file = file;
      functions.push_back(*std::move(function));
    }
  }
  return functions;
}

bool mentions(const SourceTree& sources, const std::string& source, std::string_view word) {
  return std::ranges::any_of(files_of(sources, source), [&](const std::string& file) {
    const auto content = sources.files.find(file);
    return content != sources.files.end() &&
           find_word(without_comments(content->second), word, 0) != std::string::npos;
  });
}

}  // namespace mgtune

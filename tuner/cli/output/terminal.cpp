#include "cli/output/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string_view>

#include "text/printable.h"

namespace mgtune {
namespace {

struct ColoredWord {
  std::string_view word;
  std::string_view color;
};

constexpr std::string_view kRed = "\x1b[31m", kGreen = "\x1b[32m", kEnd = "\x1b[0m";

constexpr ColoredWord kColoredWords[] = {
    {"wrong", kRed},         {"crashed", kRed}, {"compile_failed", kRed},
    {"launch_failed", kRed}, {"timeout", kRed}, {"unstable", kRed},
    {"SLOWER", kRed},        {"BROKEN", kRed},  {"FASTER", kGreen},
};

bool is_blank(char c) { return c == ' ' || c == '\n'; }

std::string_view color_of(std::string_view word) {
  for (const ColoredWord& colored : kColoredWords) {
    if (colored.word == word) return colored.color;
  }
  return {};
}

}  // namespace

bool is_terminal(int file) {
  const char* term = std::getenv("TERM");
  const bool is_dumb = term == nullptr || std::string_view(term) == "dumb";
  return ::isatty(file) != 0 && !is_dumb;
}

bool shows_color(int file) {
  const char* no_color = std::getenv("NO_COLOR");
  return is_terminal(file) && (no_color == nullptr || *no_color == '\0');
}

std::size_t terminal_columns(int file, std::size_t otherwise) {
  winsize size{};
  return ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

std::string colored(const std::string& text) {
  std::string result;
  for (std::size_t start = 0; start < text.size();) {
    std::size_t end = start;
    while (end < text.size() && !is_blank(text[end])) ++end;
    const std::string_view word = std::string_view(text).substr(start, end - start);
    const std::string_view color = color_of(word);
    result += color;
    result += word;
    if (!color.empty()) result += kEnd;
    if (end < text.size()) result += text[end];
    start = end + 1;
  }
  return result;
}

void print_text(const std::string& text) {
  const std::size_t columns = terminal_columns(STDOUT_FILENO, 0);
  const std::string fitted = columns > 0 ? folded(text, columns) : text;
  std::cout << (shows_color(STDOUT_FILENO) ? colored(fitted) : fitted);
}

}  // namespace mgtune

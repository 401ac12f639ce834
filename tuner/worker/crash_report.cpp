#include "worker/crash_report.h"

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string_view>
#include <vector>

namespace mgtune {
namespace {

constexpr std::size_t kLines = 8;
constexpr std::size_t kFrames = 3;
constexpr std::size_t kLineBytes = 400;  // template names can run over many screens

std::vector<std::string> non_empty_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t start = line.find_first_not_of(" \t\r");
    if (start == std::string::npos) continue;
    lines.push_back(line.substr(start, kLineBytes));
  }
  return lines;
}

bool contains(std::string_view line, std::string_view part) {
  return line.find(part) != std::string_view::npos;
}

bool is_summary(std::string_view line) {
  return line.starts_with("SUMMARY: ") && contains(line, "Sanitizer");
}

// Lines that are kept wherever they stand in a report. The cpu device's own start with "block (".
bool is_finding(std::string_view line) {
  return contains(line, "Sanitizer:") || contains(line, "runtime error:") ||
         line.starts_with("READ of size") || line.starts_with("WRITE of size") ||
         contains(line, "block (");
}

std::vector<std::string> sanitizer_lines(const std::vector<std::string>& lines) {
  std::vector<std::string> kept;
  std::size_t frames = 0;
  for (const std::string& line : lines) {
    const bool is_frame = line.starts_with('#') && frames < kFrames;
    if (is_frame) ++frames;
    if (is_frame || is_finding(line)) kept.push_back(line);
  }
  return kept;
}

}  // namespace

std::string crash_message(const std::string& end, const std::string& error_output) {
  std::vector<std::string> lines = non_empty_lines(error_output);
  if (std::ranges::any_of(lines, is_summary)) {
    lines = sanitizer_lines(lines);
  } else if (lines.size() > kLines) {
    lines.erase(lines.begin(), lines.end() - kLines);
  }
  std::string message = end;
  for (std::size_t i = 0; i < lines.size(); ++i) message += (i == 0 ? ": " : "\n") + lines[i];
  return message;
}

}  // namespace mgtune

#include "live/http_request.h"

#include <algorithm>
#include <cctype>

namespace mgtune {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

// Takes a line, without its end, from the front of `text`.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find(kLineEnd), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + kLineEnd.size()));
  return line;
}

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const std::size_t start = text.find_first_not_of(kBlank);
  if (start == std::string_view::npos) return "";
  return text.substr(start, text.find_last_not_of(kBlank) + 1 - start);
}

}  // namespace

std::optional<HttpRequest> parse_http_request(std::string_view head) {
  const std::string_view first = take_line(head);
  const std::size_t method_end = first.find(' ');
  const std::size_t target_end = first.rfind(' ');
  if (method_end == std::string_view::npos || target_end <= method_end + 1) return std::nullopt;
  if (!first.substr(target_end + 1).starts_with("HTTP/1.")) return std::nullopt;
  HttpRequest request{std::string(first.substr(0, method_end)),
                      std::string(first.substr(method_end + 1, target_end - method_end - 1)), ""};
  bool has_host = false;
  while (true) {
    const std::string_view line = take_line(head);
    if (line.empty()) return request;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    if (!same_name(line.substr(0, colon), "host")) continue;
    if (has_host) return std::nullopt;
    has_host = true;
    request.host = trimmed(line.substr(colon + 1));
  }
}

}  // namespace mgtune

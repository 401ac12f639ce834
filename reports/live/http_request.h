// The head of an HTTP/1.1 request, as far as the page's server looks at it. Pure.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mgtune {

struct HttpRequest {
  std::string method;  // "GET"
  std::string target;  // "/token/events"
  std::string host;    // "127.0.0.1:4711"; "" without the header
};

// `head` ends with an empty line. nullopt for what is no request, or names two hosts.
std::optional<HttpRequest> parse_http_request(std::string_view head);

}  // namespace mgtune

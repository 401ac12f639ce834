// The parts of an HTTP/1.1 request's head that the page's server uses. Pure.

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

// `head` ends with an empty line. nullopt if it is not a request, or names two hosts.
std::optional<HttpRequest> parse_http_request(std::string_view head);

}  // namespace mgtune

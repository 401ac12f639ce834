#include "live/page_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <utility>

namespace mgtune {
namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";

// frame-ancestors is the only rule that a page cannot state itself.
constexpr std::string_view kHeaders =
    "Cache-Control: no-store\r\nConnection: close\r\nX-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"
    "Content-Security-Policy: frame-ancestors 'none'\r\n";

std::string response(std::string_view status, std::string_view type, std::string_view body,
                     std::string_view more = "") {
  return fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}{}\r\n{}", status,
                     type, body.size(), kHeaders, more, body);
}

std::string refusal(std::string_view status, std::string_view more = "") {
  return response(status, "text/plain; charset=utf-8", fmt::format("{}\n", status), more);
}

Result<std::string> random_token() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return environment_error(std::string("no random numbers: ") + std::strerror(errno));
  }
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

Status no_socket(std::string_view call) {
  return environment_error(
      fmt::format("cannot serve the page on 127.0.0.1: {}: {}", call, std::strerror(errno)));
}

constexpr std::string_view kLineEnd = "\r\n";

// Removes the first line of `text` and returns it without its end.
std::string_view pop_line(std::string_view& text) {
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

bool would_wait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

std::optional<HttpRequest> parse_http_request(std::string_view head) {
  const std::string_view first = pop_line(head);
  const std::size_t method_end = first.find(' ');
  const std::size_t target_end = first.rfind(' ');
  if (method_end == std::string_view::npos || target_end <= method_end + 1) return std::nullopt;
  if (!first.substr(target_end + 1).starts_with("HTTP/1.")) return std::nullopt;
  HttpRequest request{std::string(first.substr(0, method_end)),
                      std::string(first.substr(method_end + 1, target_end - method_end - 1)), ""};
  bool has_host = false;
  while (true) {
    const std::string_view line = pop_line(head);
    if (line.empty()) return request;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    if (!same_name(line.substr(0, colon), "host")) continue;
    if (has_host) return std::nullopt;
    has_host = true;
    request.host = trimmed(line.substr(colon + 1));
  }
}

Result<PageServer> PageServer::listen(const PageServerLimits& limits) {
  PageServer server;
  server.limits_ = limits;
  server.socket_ = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (server.socket_.get() < 0) return no_socket("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(server.socket_.get(), any, size) != 0) return no_socket("bind");
  if (::listen(server.socket_.get(), 16) != 0) return no_socket("listen");
  if (::getsockname(server.socket_.get(), any, &size) != 0) return no_socket("getsockname");
  MGTUNE_ASSIGN(const std::string token, random_token());
  server.port_ = std::to_string(ntohs(address.sin_port));
  server.host_ = "127.0.0.1:" + server.port_;
  server.path_ = "/" + token + "/";
  server.url_ = "http://" + server.host_ + server.path_;
  return server;
}

void PageServer::publish(std::string page, const std::string& document) {
  page_ = std::move(page);
  event_ = std::make_shared<const std::string>("event: report\ndata: " + document + "\n\n");
  ++version_;
}

Status PageServer::serve(std::chrono::milliseconds limit, int wake) {
  std::vector<pollfd> polled = {{socket_.get(), POLLIN, 0}, {wake, POLLIN, 0}};
  for (Client& client : clients_) {
    if (client.output == nullptr) offer_next(client);
    const short events = client.output != nullptr ? POLLIN | POLLOUT : POLLIN;
    polled.push_back({client.socket.get(), events, 0});
  }
  const int ready = ::poll(polled.data(), polled.size(), static_cast<int>(limit.count()));
  if (ready < 0 && errno != EINTR) {
    return io_error(std::string("cannot wait for browsers: ") + std::strerror(errno));
  }
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    Client& client = clients_[i];
    const short events = ready > 0 ? polled[i + 2].revents : short{0};
    if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) read(client);
    if (!client.gone && client.output != nullptr) write(client);
    if (is_slow(client)) client.gone = true;
    if (ended_ && !client.listens && client.output == nullptr) client.gone = true;
  }
  std::erase_if(clients_, [](const Client& client) { return client.gone; });
  if (ready > 0 && (polled[0].revents & POLLIN) != 0) accept_clients();
  return {};
}

void PageServer::accept_clients() {
  while (true) {
    FileDescriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.get() < 0) return;
    if (clients_.size() >= limits_.clients) continue;  // closes it
    Client client;
    client.socket = std::move(socket);
    client.active = Clock::now();
    clients_.push_back(std::move(client));
  }
}

// Reads the client's request until it is complete. Later data is read only to see the end of the
// connection.
void PageServer::read(Client& client) {
  std::array<char, 4096> buffer;
  const ssize_t count = ::recv(client.socket.get(), buffer.data(), buffer.size(), 0);
  if (count == 0 || (count < 0 && !would_wait())) {
    client.gone = true;
    return;
  }
  if (count < 0 || client.listens || client.closes) return;
  client.head.append(buffer.data(), static_cast<std::size_t>(count));
  const std::size_t end = client.head.find(kHeadEnd);
  if (end != std::string::npos) {
    client.head.resize(end + kHeadEnd.size());
    answer(client);
  } else if (client.head.size() > limits_.head_bytes) {
    client.output =
        std::make_shared<const std::string>(refusal("431 Request Header Fields Too Large"));
    client.closes = true;
  }
}

void PageServer::answer(Client& client) {
  const std::optional<HttpRequest> request = parse_http_request(client.head);
  client.active = Clock::now();
  client.closes = true;
  const auto reply = [&](std::string text) {
    client.output = std::make_shared<const std::string>(std::move(text));
  };
  if (!request) return reply(refusal("400 Bad Request"));
  if (request->host != host_ && request->host != "localhost:" + port_) {
    return reply(refusal("403 Forbidden"));
  }
  if (request->method != "GET") return reply(refusal("405 Method Not Allowed", "Allow: GET\r\n"));
  if (request->target == path_) return reply(response("200 OK", "text/html; charset=utf-8", page_));
  if (request->target != path_ + "events") return reply(refusal("404 Not Found"));
  client.listens = true;
  client.closes = false;
  reply(fmt::format("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{}\r\n", kHeaders));
}

void PageServer::write(Client& client) {
  while (client.output != nullptr) {
    const std::string_view rest = std::string_view(*client.output).substr(client.sent);
    const ssize_t count = ::send(client.socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (count < 0) {
      client.gone = !would_wait();
      return;
    }
    client.active = Clock::now();
    client.sent += static_cast<std::size_t>(count);
    if (client.sent < client.output->size()) continue;
    client.output = nullptr;
    client.sent = 0;
    if (client.closes) {
      client.gone = true;
      return;
    }
    offer_next(client);
  }
}

// Sends the newest document if the client has an older one, then the end.
void PageServer::offer_next(Client& client) const {
  if (!client.listens) return;
  if (client.version != version_) {
    client.output = event_;
    client.version = version_;
    client.active = Clock::now();
  } else if (ended_) {
    client.output = std::make_shared<const std::string>("event: end\ndata: {}\n\n");
    client.closes = true;
  }
}

bool PageServer::is_slow(const Client& client) const {
  if (client.listens && client.output == nullptr) return false;
  const auto quiet = Clock::now() - client.active;
  return quiet > (client.output == nullptr ? limits_.request : limits_.stalled);
}

}  // namespace mgtune

// The server of the page, driven in one thread by clients that the test plays.

#include "live/page_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

namespace mgtune {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class PageServerTest : public ::testing::Test {
 protected:
  PageServerTest() { use(PageServerLimits{}); }

  void use(const PageServerLimits& limits) {
    server_.emplace(PageServer::listen(limits).value());
    const std::string& url = server_->url();
    const std::size_t colon = url.find(':', 7);
    const std::size_t slash = url.find('/', colon);
    port_ = std::stoi(url.substr(colon + 1, slash - colon - 1));
    path_ = url.substr(slash);
    host_ = "127.0.0.1:" + std::to_string(port_);
    server_->publish("<html>page</html>", R"({"format":2})");
  }

  FileDescriptor connect() const {
    FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return socket;
  }

  static void send(const FileDescriptor& socket, const std::string& text) {
    EXPECT_EQ(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }

  std::string request(const std::string& method, const std::string& target,
                      const std::string& host) const {
    return method + " " + target + " HTTP/1.1\r\nAccept: */*\r\nHost: " + host + "\r\n\r\n";
  }

  void serve(int times = 5) {
    for (int i = 0; i < times; ++i) ASSERT_TRUE(server_->serve(milliseconds(10)).ok());
  }

  // What has come so far; a closed connection ends it.
  static std::string received(const FileDescriptor& socket) {
    std::string text;
    char buffer[4096];
    while (true) {
      const ssize_t count = ::recv(socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (count <= 0) return text;
      text.append(buffer, static_cast<std::size_t>(count));
    }
  }

  std::string answer(const std::string& text) {
    const FileDescriptor client = connect();
    serve(1);
    send(client, text);
    serve();
    return received(client);
  }

  FileDescriptor listener() {
    FileDescriptor client = connect();
    serve(1);
    send(client, request("GET", path_ + "events", host_));
    serve();
    return client;
  }

  std::optional<PageServer> server_;
  int port_ = 0;
  std::string path_, host_;
};

TEST_F(PageServerTest, ServesThePageUnderItsToken) {
  EXPECT_THAT(server_->url(), ::testing::MatchesRegex("http://127.0.0.1:[0-9]+/[0-9a-f]{32}/"));
  const std::string text = answer(request("GET", path_, host_));
  EXPECT_THAT(text, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(text, HasSubstr("Content-Type: text/html; charset=utf-8\r\n"));
  EXPECT_THAT(text, HasSubstr("Content-Length: 17\r\n"));
  EXPECT_THAT(text, HasSubstr("Cache-Control: no-store\r\n"));
  EXPECT_THAT(text, ::testing::EndsWith("\r\n\r\n<html>page</html>"));
  EXPECT_EQ(server_->clients(), 0u) << "the connection is closed";
  EXPECT_THAT(answer(request("GET", path_, "localhost:" + std::to_string(port_))),
              StartsWith("HTTP/1.1 200"));
}

TEST_F(PageServerTest, AWrongTokenIsNotFound) {
  for (const std::string target : {"/", "/0123456789abcdef0123456789abcdef/", "/events", "/../"}) {
    const std::string text = answer(request("GET", target, host_));
    EXPECT_THAT(text, StartsWith("HTTP/1.1 404 ")) << target;
    EXPECT_THAT(text, Not(HasSubstr("page")));
  }
  EXPECT_THAT(answer(request("GET", path_ + "other", host_)), StartsWith("HTTP/1.1 404 "));
}

TEST_F(PageServerTest, AnotherHostIsForbiddenEvenWithTheToken) {
  for (const std::string host : {"evil.example", "127.0.0.1", "127.0.0.1:1", ""}) {
    EXPECT_THAT(answer(request("GET", path_, host)), StartsWith("HTTP/1.1 403 ")) << host;
  }
}

TEST_F(PageServerTest, NothingButGetIsAllowed) {
  for (const std::string method : {"POST", "PUT", "DELETE", "OPTIONS", "HEAD", "get"}) {
    const std::string text = answer(request(method, path_, host_));
    EXPECT_THAT(text, StartsWith("HTTP/1.1 405 ")) << method;
    EXPECT_THAT(text, HasSubstr("Allow: GET\r\n"));
  }
}

TEST_F(PageServerTest, WhatIsNoRequestIsRefused) {
  EXPECT_THAT(answer("hello\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer("GET /" + std::string(9000, 'a')), StartsWith("HTTP/1.1 431 "));
}

TEST_F(PageServerTest, ARequestMayComeInPieces) {
  const FileDescriptor client = connect();
  for (const char c : request("GET", path_, host_)) {
    send(client, std::string(1, c));
    serve(1);
  }
  serve();
  EXPECT_THAT(received(client), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(PageServerTest, EveryListenerGetsEachDocumentAndTheEnd) {
  const FileDescriptor one = listener();
  const FileDescriptor other = listener();
  for (const FileDescriptor* client : {&one, &other}) {
    const std::string text = received(*client);
    EXPECT_THAT(text, HasSubstr("Content-Type: text/event-stream\r\n"));
    EXPECT_THAT(text, ::testing::EndsWith("event: report\ndata: {\"format\":2}\n\n"));
  }
  server_->publish("<html>new</html>", "{}");
  serve();
  server_->end();
  serve();
  for (const FileDescriptor* client : {&one, &other}) {
    EXPECT_EQ(received(*client), "event: report\ndata: {}\n\nevent: end\ndata: {}\n\n");
  }
  EXPECT_TRUE(server_->is_done());
}

TEST_F(PageServerTest, AClientThatNeverReadsHoldsNobodyUpAndIsDropped) {
  PageServerLimits limits;
  limits.stalled = milliseconds(300);
  use(limits);
  server_->publish("", std::string(32 << 20, ' '));  // more than the sockets' buffers hold
  const FileDescriptor lazy = listener();
  for (int i = 0; i < 20; ++i) server_->publish("<html></html>", std::to_string(i));
  const FileDescriptor busy = listener();
  EXPECT_THAT(received(busy), ::testing::EndsWith("data: 19\n\n")) << "only the newest";
  EXPECT_EQ(server_->clients(), 2u);
  serve(60);
  EXPECT_EQ(server_->clients(), 1u);
  server_->publish("", "last");
  serve();
  EXPECT_THAT(received(busy), ::testing::EndsWith("data: last\n\n"));
}

TEST_F(PageServerTest, AClientThatNeverAsksIsDropped) {
  PageServerLimits limits;
  limits.request = milliseconds(100);
  use(limits);
  const FileDescriptor silent = connect();
  serve(2);
  EXPECT_EQ(server_->clients(), 1u);
  serve(30);
  EXPECT_EQ(server_->clients(), 0u);
}

TEST_F(PageServerTest, MoreClientsThanThereIsRoomForAreTurnedAway) {
  PageServerLimits limits;
  limits.clients = 2;
  use(limits);
  const FileDescriptor one = listener(), two = listener();
  const FileDescriptor third = connect();
  serve();
  EXPECT_EQ(server_->clients(), 2u);
  EXPECT_EQ(received(third), "");
}

TEST_F(PageServerTest, AClientThatLeavesIsForgotten) {
  { const FileDescriptor client = listener(); }
  serve();
  EXPECT_EQ(server_->clients(), 0u);
}

TEST(HttpRequestTest, ReadsWhatBrowsersSend) {
  const auto request =
      parse_http_request("GET /a/events HTTP/1.1\r\nAccept: x\r\nhOST:  localhost:1 \r\n\r\n");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "GET");
  EXPECT_EQ(request->target, "/a/events");
  EXPECT_EQ(request->host, "localhost:1");
  for (const char* head : {"", "\r\n\r\n", "GET\r\n\r\n", "GET  HTTP/1.1\r\n\r\n",
                           "GET / SPDY\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n"}) {
    EXPECT_FALSE(parse_http_request(head)) << head;
  }
}

}  // namespace
}  // namespace mgtune

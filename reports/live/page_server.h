// PageServer: serves a report's page to browsers on this machine while a sweep runs, and sends them
// newer documents as server-sent events.
//
// It listens on 127.0.0.1 only, at a port that the system chooses. The path begins with a random
// token of 128 bits, which other users of the machine and web pages in a browser do not know. It
// answers GET of URL (the page) and of URL + "events". A request that names another host (from a
// page that resolved its own name to 127.0.0.1) gets 403, another path 404, another method 405.
// Nothing that a client sends changes anything. The server has one thread and never waits for a
// client: a client that reads slowly gets the newest document when it is ready for it, and a client
// that stops reading is dropped.
//
// Move-only; one thread at a time.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "system/file_descriptor.h"

namespace mgtune {

// The parts of an HTTP/1.1 request's head that the server uses.
struct HttpRequest {
  std::string method;  // "GET"
  std::string target;  // "/token/events"
  std::string host;    // "127.0.0.1:4711"; "" without the header
};

// `head` ends with an empty line. nullopt if it is not a request, or names two hosts.
std::optional<HttpRequest> parse_http_request(std::string_view head);

struct PageServerLimits {
  std::size_t clients = 32;
  std::size_t head_bytes = 8 << 10;           // of a request
  std::chrono::milliseconds request{10'000};  // to send its head
  std::chrono::milliseconds stalled{60'000};  // to read something of an answer
};

class PageServer {
 public:
  // environment if no socket is available.
  static Result<PageServer> listen(const PageServerLimits& limits = {});

  PageServer(PageServer&&) = default;
  PageServer& operator=(PageServer&&) = default;

  const std::string& url() const { return url_; }  // "http://127.0.0.1:4711/TOKEN/"

  // Serves this page from now on, and sends the document, on one line, to everyone who listens to
  // events.
  void publish(std::string page, const std::string& document);

  // Tells everyone who listens that the last document was sent.
  void end() { ended_ = true; }

  // Waits until a client needs something, `wake` is readable or `limit` is over, and serves the
  // clients. io if waiting itself fails.
  Status serve(std::chrono::milliseconds limit, int wake = -1);

  bool is_done() const { return ended_ && clients_.empty(); }
  std::size_t clients() const { return clients_.size(); }

 private:
  using Clock = std::chrono::steady_clock;

  struct Client {
    FileDescriptor socket;
    std::string head;                           // of its request, until it is whole
    std::shared_ptr<const std::string> output;  // the bytes that are being sent to it
    std::size_t sent = 0;
    std::int64_t version = 0;  // of the document that it has
    bool listens = false, closes = false, gone = false;
    Clock::time_point active;  // when it last did something
  };

  PageServer() = default;
  void accept_clients();
  void read(Client& client);
  void answer(Client& client);
  void write(Client& client);
  void offer_next(Client& client) const;
  bool is_slow(const Client& client) const;

  PageServerLimits limits_;
  FileDescriptor socket_;
  std::string url_, path_, host_, port_;
  std::vector<Client> clients_;
  std::string page_;
  std::shared_ptr<const std::string> event_;  // the newest document
  std::int64_t version_ = 0;                  // of it; 0: none yet
  bool ended_ = false;
};

}  // namespace mgtune

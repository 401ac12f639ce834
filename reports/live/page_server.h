// PageServer: serves a report's page to browsers on this machine while a sweep runs, and sends them
// newer documents as server-sent events.
//
// Listens on 127.0.0.1 alone, at a port that the system chooses, under a path that begins with a
// random token of 128 bits: other users of the machine, and web pages that a browser has open, do
// not know it. Answers GET of URL (the page) and of URL + "events"; a request that names another
// host (a page that resolved its own name to 127.0.0.1) gets 403, another path 404, another method
// 405. Nothing that a client sends changes anything. One thread, never waits for a client: one that
// reads slowly gets the newest document when it is ready for it, one that stops reading is dropped.
//
// Move-only; one thread at a time.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "system/file_descriptor.h"
#include "core/status.h"

namespace mgtune {

struct PageServerLimits {
  std::size_t clients = 32;
  std::size_t head_bytes = 8 << 10;           // of a request
  std::chrono::milliseconds request{10'000};  // to send its head
  std::chrono::milliseconds stalled{60'000};  // to read something of an answer
};

class PageServer {
 public:
  // environment when no socket is to be had.
  static Result<PageServer> listen(const PageServerLimits& limits = {});

  PageServer(PageServer&&) = default;
  PageServer& operator=(PageServer&&) = default;

  const std::string& url() const { return url_; }  // "http://127.0.0.1:4711/TOKEN/"

  // From now on: the page, and a document on one line for everyone who listens to events.
  void publish(std::string page, const std::string& document);

  // Tells everyone who listens that no more will come, after the last document.
  void end() { ended_ = true; }

  // Waits until a client needs something, `wake` is readable or `limit` is over, and sees to the
  // clients. io when waiting itself fails.
  Status serve(std::chrono::milliseconds limit, int wake = -1);

  bool is_done() const { return ended_ && clients_.empty(); }
  std::size_t clients() const { return clients_.size(); }

 private:
  using Clock = std::chrono::steady_clock;

  struct Client {
    FileDescriptor socket;
    std::string head;                           // of its request, until it is whole
    std::shared_ptr<const std::string> output;  // what it is being sent
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

// The process behind `mgtune sweep --watch` (WatchPage in sweep_command.cpp). It serves the results
// of one kernel, or of all, until its standard input ends or says "end", and writes its URL as the
// first line of standard output.

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>

#include "cli/command.h"
#include "cli/found_results.h"
#include "document/report_document.h"
#include "html/report_page.h"
#include "live/page_server.h"

namespace mgtune {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kBetweenDocuments{1000};
// Making a document of 100,000 variants takes two seconds. Documents use at most a tenth of a
// core.
constexpr int kShareOfTime = 10;
constexpr milliseconds kToLeave{3000};  // for browsers to read the last document

// When each of the two files of a store was last written, and its size.
using Stamp = std::array<std::pair<std::filesystem::file_time_type, std::uintmax_t>, 2>;

Stamp stamp_of(const std::string& database) {
  const auto stamp = [](const std::string& path) {
    std::error_code missing;
    const auto time = std::filesystem::last_write_time(path, missing);
    return std::pair(time, std::filesystem::file_size(path, missing));
  };
  return {stamp(database), stamp(database + "-wal")};
}

class Watcher {
 public:
  Watcher(std::string database, std::string kernel, PageServer server)
      : database_(std::move(database)), kernel_(std::move(kernel)), server_(std::move(server)) {}

  Status run() {
    publish(true);
    while (!input_ended()) {
      MGTUNE_TRY(server_.serve(milliseconds(200), STDIN_FILENO));
      if (SteadyClock::now() >= next_ && stamp_of(database_) != published_) publish(true);
    }
    publish(false);
    server_.end();
    const SteadyClock::time_point limit = SteadyClock::now() + kToLeave;
    while (!server_.is_done() && SteadyClock::now() < limit)
      MGTUNE_TRY(server_.serve(milliseconds(50)));
    return {};
  }

 private:
  // If the store cannot be read now (a locked file), it is read the next time.
  void publish(bool live) {
    const SteadyClock::time_point start = SteadyClock::now();
    const Stamp stamp = stamp_of(database_);
    // This closes the store at once. An open reader would keep the sweep from merging the log.
    const Result<FoundResults> found = find_results(database_, {kernel_, "", "", ""});
    if (found.ok()) {
      const ReportModel& model = found->model;
      DocumentOptions options;
      options.live = live;
      options.database = database_;
      Result<std::string> page = render_page(model, "");
      if (page.ok()) {
        server_.publish(*std::move(page), report_document(model, analyze(model), options));
        published_ = stamp;
      }
    }
    const auto took = std::chrono::duration_cast<milliseconds>(SteadyClock::now() - start);
    next_ = SteadyClock::now() + std::max(kBetweenDocuments, kShareOfTime * took);
  }

  // True if the sweep has written "end", or has ended.
  bool input_ended() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    return ::poll(&input, 1, 0) > 0;
  }

  std::string database_, kernel_;
  PageServer server_;
  Stamp published_{};
  SteadyClock::time_point next_;
};

class WatchCommand final : public Command {
 public:
  bool hidden() const override { return true; }
  void declare(ArgumentList& arguments) override {
    arguments.required("--db", database_, "FILE", "The sweep's database");
    arguments.value("--kernel", kernel_, "NAME|DIR",
                    "The kernel that the sweep tunes (default: all)");
  }
  Result<ExitCode> run(const Invocation&) override {
    MGTUNE_ASSIGN(PageServer server, PageServer::listen());
    std::cout << server.url() << std::endl;
    MGTUNE_TRY(Watcher(database_, kernel_, std::move(server)).run());
    return ExitCode::ok;
  }

 private:
  std::string database_, kernel_;
};

}  // namespace

std::unique_ptr<Command> make_watch_command() { return std::make_unique<WatchCommand>(); }

}  // namespace mgtune

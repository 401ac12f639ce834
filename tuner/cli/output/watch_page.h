// WatchPage: the process that serves the report of a sweep that runs (`mgtune sweep --watch`). A
// process of its own, so that no browser takes anything from the sweep. It reads the store while
// the sweep writes it, and ends when its standard input does.
//
// Move-only; the thread that started it.

#pragma once

#include <optional>
#include <string>

#include "core/status.h"
#include "system/child_process.h"

namespace mgtune {

class WatchPage {
 public:
  // `program` is this one; an empty `kernel` means all. environment when it does not start or has
  // no socket.
  static Result<WatchPage> start(const std::string& program, const std::string& database,
                                 const std::string& kernel);

  const std::string& url() const { return url_; }

  // The sweep is over: browsers get the last document. Returns within seconds. Before the store is
  // closed: who closes it last folds its log.
  void finish();

 private:
  WatchPage(ChildProcess process, std::string url)
      : process_(std::move(process)), url_(std::move(url)) {}

  ChildProcess process_;
  std::string url_;
};

// The child's part: serves the results of `kernel` in `database` until standard input ends or says
// "end", and writes its URL as the first line of standard output.
Status serve_watch_page(const std::string& database, const std::string& kernel);

}  // namespace mgtune

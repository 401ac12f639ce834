// WatchPage: the process (`mgtune watch`) that serves the report of a running sweep (`mgtune sweep
// --watch`). It is a separate process, so that browsers do not slow down the sweep. It reads the
// store while the sweep writes it, and ends when its standard input is closed.
//
// Move-only. Only the thread that started it uses it.

#pragma once

#include <string>

#include "core/status.h"
#include "system/child_process.h"

namespace mgtune {

class WatchPage {
 public:
  // `program` is the path of mgtune; an empty `kernel` means all. environment if the process does
  // not start or gets no socket.
  static Result<WatchPage> start(const std::string& program, const std::string& database,
                                 const std::string& kernel);

  const std::string& url() const { return url_; }

  // Call when the sweep is over: browsers get the last document. Returns within seconds. Call it
  // before the store is closed, because the last process that closes the store merges its log.
  void finish();

 private:
  WatchPage(ChildProcess process, std::string url)
      : process_(std::move(process)), url_(std::move(url)) {}

  ChildProcess process_;
  std::string url_;
};

}  // namespace mgtune

// RequestReader: reads a worker's requests on a separate thread. While the worker works on one
// request, the next ones may already have arrived. The thread looks ahead at them, so that work
// that needs no device is done before their turn.

#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/status.h"
#include "system/file_descriptor.h"
#include "worker/protocol.h"

namespace mgtune {

class RequestReader {
 public:
  using Clock = std::chrono::steady_clock;
  using LookAhead = std::function<void(const WorkRequest&)>;

  // Reads from `requests`, which must outlive the object. The thread calls `look_ahead` with each
  // request before next() returns it.
  static Result<std::unique_ptr<RequestReader>> start(int requests, LookAhead look_ahead);
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;
  ~RequestReader();

  struct Arrived {
    WorkRequest request;
    Clock::time_point at;
  };
  // Waits for the next request. nullopt once the parent has closed its end; corrupt if what came is
  // not a request.
  Result<std::optional<Arrived>> next();

 private:
  RequestReader(int requests, FileDescriptor stop, LookAhead look_ahead);

  Status read_all();
  Status add_lines(std::string& buffer);

  const int requests_;
  const FileDescriptor stop_;  // can be read once the thread must end
  const LookAhead look_ahead_;
  std::mutex mutex_;  // protects all members below
  std::condition_variable news_;
  std::deque<Arrived> arrived_;
  std::optional<Status> end_;  // set once nothing more comes
  std::jthread thread_;        // the last member: it uses the others
};

}  // namespace mgtune

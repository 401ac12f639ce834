// WorkerChannel: a worker's end of its pipes, and the loop that serves requests. Requests and
// replies are moved to separate descriptors: whatever other code in the process prints on standard
// output goes to standard error, and no other code reads the requests. Move-only; one thread.

#pragma once

#include <functional>
#include <string>
#include <variant>

#include "core/status.h"
#include "system/file_descriptor.h"
#include "worker/protocol.h"

namespace mgtune {

class WorkerChannel {
 public:
  static Result<WorkerChannel> open();  // once per process, before it starts other processes

  // Until the parent closes its end: reads a request, sends `begin`, calls the overload of
  // `worker.handle(const ...Request&, WorkReply&)` for the request's kind, and sends the reply. The
  // Status of handle() is a failure, which becomes the reply (worker_failure.h). The loop ends if
  // the device is lost with the failure. After each reply the loop calls `worker.tidy_up()`, if it
  // exists: the parent does not wait for this work. If `worker.look_ahead(const WorkRequest&)`
  // exists, another thread calls it with each request before its turn, perhaps while the previous
  // request is in progress.
  template <typename Worker>
  Status serve(Worker& worker) {
    const auto handle = [&worker](const WorkRequest& request, WorkReply& reply) {
      return std::visit(
          [&]<typename Kind>(const Kind& work) -> Status {
            if constexpr (requires { worker.handle(work, reply); }) {
              return worker.handle(work, reply);
            } else {
              return internal_error("this worker does not " + std::string(Kind::kKind));
            }
          },
          request.work);
    };
    std::function<void()> tidy_up = [] {};
    if constexpr (requires { worker.tidy_up(); }) tidy_up = [&worker] { worker.tidy_up(); };
    std::function<void(const WorkRequest&)> look_ahead = [](const WorkRequest&) {};
    if constexpr (requires(const WorkRequest& request) { worker.look_ahead(request); }) {
      look_ahead = [&worker](const WorkRequest& request) { worker.look_ahead(request); };
    }
    return serve_each(handle, tidy_up, look_ahead);
  }

  // Sends `begin`: the worker begins to work on the request `id`. In phase `reference`, `what`
  // names the reference.
  Status begin(std::int64_t id, WorkReply::Phase phase = WorkReply::Phase::variant,
               std::string what = "");

 private:
  WorkerChannel() = default;

  Status serve_each(const std::function<Status(const WorkRequest&, WorkReply&)>& handle,
                    const std::function<void()>& tidy_up,
                    const std::function<void(const WorkRequest&)>& look_ahead);
  Status send(const WorkReply& reply);

  FileDescriptor requests_, replies_;
};

}  // namespace mgtune

// WorkerChannel: a worker's end of the pipes. Requests and replies move to descriptors of their
// own; what anything else in the process prints on standard output goes to standard error, and
// nothing else reads the requests. Move-only; one thread.

#pragma once

#include <optional>
#include <string>

#include "system/file_descriptor.h"
#include "core/status.h"
#include "worker/protocol.h"

namespace mgtune {

class WorkerChannel {
 public:
  static Result<WorkerChannel> open();  // once in a process, before it starts others

  // nullopt once the parent has closed its end; corrupt when the line is no request.
  Result<std::optional<WorkRequest>> next_request();

  // `what` names what runs in phase `reference`.
  Status begin(const WorkRequest& request, WorkReply::Phase phase = WorkReply::Phase::variant,
               std::string what = "");
  Status send(const WorkReply& reply);

 private:
  WorkerChannel() = default;

  FileDescriptor requests_, replies_;
  std::string buffer_;
};

}  // namespace mgtune

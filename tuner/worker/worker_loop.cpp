#include "worker/worker_loop.h"

#include <optional>

#include "worker/worker_failure.h"

namespace mgtune {

Status serve_requests(WorkerChannel& channel, const Work& work) {
  while (true) {
    MGTUNE_ASSIGN(const std::optional<WorkRequest> request, channel.next_request());
    if (!request) return {};
    MGTUNE_TRY(channel.begin(*request));
    WorkReply reply;
    reply.id = request->id;
    Status status = work(*request, reply);
    if (!status.ok()) put_failure(status, reply);
    MGTUNE_TRY(channel.send(reply));
    if (status.code() == StatusCode::device_lost) return status;
  }
}

}  // namespace mgtune

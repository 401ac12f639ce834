#include "measure/count_process.h"

#include <utility>

namespace mgtune {

CountProcess::CountProcess(const std::string& program, std::string device_id,
                           std::chrono::milliseconds deadline)
    : process_({program, "worker", "count", device_id}, deadline),
      device_id_(std::move(device_id)) {}

Result<WorkReply> CountProcess::run(const CountJob& job) {
  WorkRequest request;
  request.kind = WorkRequest::Kind::count;
  request.id = next_id_++;
  request.kernel = job.kernel;
  request.op = job.op;
  request.problem = job.problem;
  request.variant = job.variant;
  request.device = device_id_;
  request.tier = job.tier;
  MGTUNE_ASSIGN(WorkReply reply, process_.measure(request));
  if (reply.outcome == Outcome::ok && !reply.counters.has_value()) {
    return internal_error("the count worker answered without counters");
  }
  return reply;
}

}  // namespace mgtune

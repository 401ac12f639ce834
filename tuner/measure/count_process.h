// CountProcess: reads hardware counters of variants in a separate process. The process that times
// kernels cannot do it, because CUPTI cannot record activities and count in the same process.
// Counting may fail, for example because a permission is missing; the caller should continue
// without counters. The process is kept between calls. One thread.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "core/status.h"
#include "worker/protocol.h"
#include "worker/worker_process.h"

namespace mgtune {

class CountProcess {
 public:
  // `program` is mgtune's path; `deadline` is as for measuring (measure_deadline()). Starts no
  // worker.
  CountProcess(const std::string& program, const std::string& device_id,
               std::chrono::milliseconds deadline)
      : process_({program, "worker", "count", device_id}, deadline) {}

  // The reply has counters if its outcome is ok; any other outcome is the variant's own, for
  // example a failed check or a crash. environment, with the reason and a remedy, if the machine
  // does not allow us to read counters.
  Result<WorkReply> run(CountRequest request) {
    MGTUNE_ASSIGN(WorkReply reply, process_.run({next_id_++, std::move(request)}));
    if (reply.outcome == Outcome::ok && !reply.counters.has_value()) {
      return internal_error("the count worker answered without counters");
    }
    return reply;
  }

 private:
  WorkerProcess process_;
  std::int64_t next_id_ = 1;
};

}  // namespace mgtune

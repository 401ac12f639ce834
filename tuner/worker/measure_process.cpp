#include "worker/measure_process.h"

#include <optional>
#include <utility>

namespace mgtune {

Result<WorkReply> MeasureProcess::measure(const WorkRequest& request) {
  submit(request);
  while (true) {
    MGTUNE_ASSIGN(std::optional<WorkReply> reply, poll());
    if (reply) return *std::move(reply);
    WaitSet waiting;
    join(waiting);
    waiting.wait();
  }
}

}  // namespace mgtune

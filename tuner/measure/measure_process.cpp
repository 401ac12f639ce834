#include "measure/measure_process.h"

#include <optional>
#include <utility>

#include "worker/worker_failure.h"

namespace mgtune {

Result<WorkReply> MeasureProcess::measure(const WorkRequest& request) {
  submit({request});
  while (true) {
    MGTUNE_ASSIGN(std::optional<Finished> finished, poll());
    if (finished && finished->reply.kind == WorkReply::Kind::failed) {
      return end_of_sweep(request, finished->reply);
    }
    if (finished) return std::move(finished->reply);
    WaitSet waiting;
    join(waiting);
    waiting.wait();
  }
}

}  // namespace mgtune

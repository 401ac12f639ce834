#include "measure/count_process.h"

#include <utility>

namespace mgtune {

Result<WorkReply> CountProcess::run(CountRequest request) {
  MGTUNE_ASSIGN(WorkReply reply, process_.run({next_id_++, std::move(request)}));
  if (reply.outcome == Outcome::ok && !reply.counters.has_value()) {
    return internal_error("the count worker answered without counters");
  }
  return reply;
}

}  // namespace mgtune

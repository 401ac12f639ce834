#include "worker/worker_failure.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "check/checker.h"

namespace mgtune {

void put_failure(const Status& failure, WorkReply& reply) {
  reply.message = failure.message();
  if (const std::optional<Outcome> outcome = outcome_of(failure)) {
    reply.outcome = *outcome;
    return;
  }
  reply.kind = WorkReply::Kind::failed;
  reply.failure = failure.code();
  reply.build.reset();
  reply.check.reset();
  reply.measurement.reset();
  reply.counters.reset();
}

WorkReply failed_reply(const WorkRequest& request, const Status& failure) {
  WorkReply reply;
  reply.kind = WorkReply::Kind::failed;
  reply.id = request.id;
  reply.failure = failure.code();
  reply.message = failure.message();
  return reply;
}

bool is_worth_a_retry(const WorkRequest& request, const WorkReply& failed) {
  if (request.kind == WorkRequest::Kind::count) return false;
  return failed.failure == StatusCode::environment || failed.failure == StatusCode::io;
}

Status end_of_sweep(const WorkRequest& request, const WorkReply& failed) {
  // The family's mistake (its reference's, say) is the same for every variant.
  if (failed.failure == StatusCode::invalid_argument) return invalid_argument(failed.message);
  const bool ends_nothing =
      request.kind == WorkRequest::Kind::ceiling || request.kind == WorkRequest::Kind::count;
  if (ends_nothing) return {failed.failure, failed.message};
  const bool compiles = request.kind == WorkRequest::Kind::compile;
  std::string message =
      fmt::format("{}\nwhile {} {} of {} {}", failed.message, compiles ? "compiling" : "measuring",
                  request.variant, request.op, request.problem);
  if (is_worth_a_retry(request, failed)) {
    message += ", twice; nothing is recorded for it, and the same command goes on from here";
  }
  return {failed.failure, std::move(message)};
}

}  // namespace mgtune

#include "worker/worker_failure.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "check/failure_outcome.h"

namespace mgtune {
namespace {

// A fault of the machine may be over the second time.
bool is_tried_twice(const WorkRequest& request, const WorkReply& failed) {
  if (request.is<CountRequest>()) return false;
  return failed.failure == StatusCode::environment || failed.failure == StatusCode::io;
}

// "compiling row VEC=8 of rmsnorm.forward rows=64 T=bf16"; "" for work that ends no sweep.
std::string describe(const WorkRequest& request) {
  const auto text = [](const char* verb, const std::string& what, const NamedProblem& problem) {
    return fmt::format("{} {} of {} {}", verb, what, problem.op, problem.problem);
  };
  if (const auto* compile = std::get_if<CompileRequest>(&request.work)) {
    return text("compiling", compile->variant, *compile);
  }
  if (const auto* measure = std::get_if<MeasureRequest>(&request.work)) {
    return text("measuring", measure->variant, *measure);
  }
  if (const auto* final = std::get_if<FinalRequest>(&request.work)) {
    const std::set<std::string> distinct(final->variants.begin(), final->variants.end());
    return text("measuring", fmt::format("a final of {} variants", distinct.size()), *final);
  }
  return "";
}

}  // namespace

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

WorkReply lost_reply(const WorkRequest& request, const WorkReply& begun, const LostWorker& lost) {
  const bool compiles = request.is<CompileRequest>();
  if (lost.from_outside) {
    return failed_reply(request, environment_error(fmt::format(
                                     "the {} worker was {}; is the machine short of memory?",
                                     worker_kind(request), lost.end)));
  }
  WorkReply reply;
  reply.id = request.id;
  reply.outcome = compiles ? Outcome::compile_failed : Outcome::crashed;
  reply.message = lost.reason.message();
  if (lost.reason.code() == StatusCode::io) {
    reply.message = (compiles ? "compile worker: " : "") + lost.end;
  } else if (lost.reason.code() == StatusCode::timeout) {
    reply.outcome = Outcome::timeout;
    reply.message = fmt::format("{}not done within {}{}", compiles ? "the compiler was " : "",
                                lost.deadline, lost.deadline_basis);
  }
  if (begun.phase == WorkReply::Phase::variant) return reply;
  return failed_reply(
      request, invalid_argument(begun.message + ": the process that runs the reference and its " +
                                "fill kernels: " + reply.message));
}

bool is_worth_a_retry(const WorkRequest& request, const WorkReply& reply) {
  if (reply.kind != WorkReply::Kind::failed) return reply.outcome == Outcome::crashed;
  const bool compiles = request.is<CompileRequest>();
  return !(compiles && reply.failure == StatusCode::environment) && is_tried_twice(request, reply);
}

bool is_worth_a_retry(const WorkRequest& request, const LostWorker& lost) {
  const bool compiles = request.is<CompileRequest>();
  return !compiles || (lost.reason.code() != StatusCode::timeout && !lost.from_outside);
}

std::string_view worker_kind(const WorkRequest& request) {
  if (request.is<CompileRequest>()) return CompileRequest::kKind;
  return request.is<CountRequest>() ? CountRequest::kKind : MeasureRequest::kKind;
}

Status end_of_sweep(const WorkRequest& request, const WorkReply& failed) {
  // A mistake of the family, for example in its reference, is the same for every variant.
  if (failed.failure == StatusCode::invalid_argument) return invalid_argument(failed.message);
  const std::string work = describe(request);
  if (work.empty()) return {failed.failure, failed.message};
  std::string message = failed.message + "\nwhile " + work;
  if (is_tried_twice(request, failed)) {
    message += ", twice; nothing is recorded for it, and the same command goes on from here";
  }
  return {failed.failure, std::move(message)};
}

}  // namespace mgtune

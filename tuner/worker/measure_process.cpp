#include "worker/measure_process.h"

#include <fmt/format.h>

#include <utility>

#include "worker/crash_report.h"
#include "worker/worker_failure.h"

namespace mgtune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kStarts = 3;  // in a row without a begin: then nothing more can be measured

Clock::time_point after(std::chrono::milliseconds time) { return Clock::now() + time; }

// The next reply to this request: corrupt for anything else.
Result<WorkReply> read_reply(ChildProcess& child, const WorkRequest& request,
                             std::chrono::milliseconds deadline) {
  MGTUNE_ASSIGN(const std::string line, child.read_line(after(deadline)));
  Result<WorkReply> reply = decode_reply(line);
  if (!reply.ok()) return std::move(reply).take_status().with_context("the worker's answer");
  if (reply->id != request.id) {
    return corrupt("the worker's answer is to something else: " + line.substr(0, 120));
  }
  return reply;
}

}  // namespace

MeasureProcess::MeasureProcess(std::vector<std::string> command, std::chrono::milliseconds deadline)
    : command_(std::move(command)), deadline_(deadline) {}

Status MeasureProcess::start() {
  if (std::exchange(started_, true)) ++restarts_;
  MGTUNE_ASSIGN(child_, ChildProcess::start(command_));
  return {};
}

std::string MeasureProcess::end_worker() {
  const std::string end = child_->end_description();
  std::string message = crash_message(end, child_->take_error_output());
  child_.reset();
  return message;
}

// What becomes of a request whose worker is gone, is late or talks nonsense.
WorkReply MeasureProcess::lose(const WorkRequest& request, const WorkReply& begun,
                               const Status& reason, std::chrono::milliseconds deadline) {
  WorkReply reply;
  reply.id = request.id;
  reply.outcome = Outcome::crashed;
  reply.message = reason.message();
  if (reason.code() == StatusCode::io) {
    const std::string end = child_->end_description();
    const bool from_outside = child_->ended_from_outside();
    reply.message = end_worker();
    if (from_outside) {
      return failed_reply(request, environment_error("the measure worker was " + reply.message +
                                                     "; is the machine short of memory?"));
    }
  } else {
    child_->kill();
    child_.reset();
  }
  if (reason.code() == StatusCode::timeout) {
    reply.outcome = Outcome::timeout;
    reply.message = deadline_.message(request, deadline);
  }
  if (begun.phase == WorkReply::Phase::variant) return reply;
  return failed_reply(
      request, invalid_argument(begun.message + ": the process that runs the reference and its " +
                                "fill kernels: " + reply.message));
}

Result<MeasureProcess::Attempt> MeasureProcess::attempt(const WorkRequest& request,
                                                        std::chrono::milliseconds more) {
  if (child_) {
    child_->take_error_output();  // of earlier variants
  } else {
    MGTUNE_TRY(start());
  }
  Status status = child_->write_line(encode(request));
  WorkReply reply;
  bool has_begun = false;
  Clock::time_point begun_at;
  do {
    const bool is_at_variant = has_begun && reply.phase == WorkReply::Phase::variant;
    const auto deadline = is_at_variant ? deadline_.of(request) + more : deadline_.most();
    Result<WorkReply> next = status.ok() ? read_reply(*child_, request, deadline) : status;
    if (!next.ok() && has_begun) {
      return Attempt{lose(request, reply, next.status(), deadline), true};
    }
    if (!next.ok() || (!has_begun && next->kind != WorkReply::Kind::begin)) {
      status = next.ok() ? corrupt("the worker's answer comes before it began") : next.status();
      if (status.code() != StatusCode::io) child_->kill();
      failed_start_ = status.message() + " (" + end_worker() + ")";
      return Attempt{};
    }
    if (next->kind == WorkReply::Kind::begin) begun_at = Clock::now();
    has_begun = true;
    reply = *std::move(next);
  } while (reply.kind == WorkReply::Kind::begin);
  const bool done = reply.kind == WorkReply::Kind::done;
  if (done)
    deadline_.learn(request, reply,
                    std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - begun_at));
  if (done && reply.outcome != Outcome::crashed) return Attempt{std::move(reply), false};
  // A GPU's context that died with this variant may have been harmed by an earlier one.
  if (done) {
    child_.reset();
    return Attempt{std::move(reply), true};
  }
  child_.reset();  // nobody knows what else is wrong with it
  const bool again = is_worth_a_retry(request, reply);
  return Attempt{std::move(reply), again};
}

Result<WorkReply> MeasureProcess::measure(const WorkRequest& request,
                                          std::chrono::milliseconds more) {
  bool is_retry = false;
  for (int starts = 0; starts < kStarts;) {
    MGTUNE_ASSIGN(Attempt attempt, this->attempt(request, more));
    if (!attempt.reply) {
      ++starts;
      continue;
    }
    if (!attempt.again || is_retry) {
      if (attempt.reply->kind == WorkReply::Kind::failed) {
        return end_of_sweep(request, *attempt.reply);
      }
      return *std::move(attempt.reply);
    }
    is_retry = true;
    starts = 0;
  }
  return environment_error(
      fmt::format("no measure worker begins its work ({} tried): {}", kStarts, failed_start_));
}

}  // namespace mgtune

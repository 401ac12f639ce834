#include "worker/measure_process.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <utility>

#include "worker/crash_report.h"

namespace mgtune {
namespace {

constexpr int kStarts = 3;  // in a row without a begin: then nothing more can be measured

std::chrono::steady_clock::time_point after(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

// The reply of this kind to this request, or why it did not come: corrupt for anything else.
Result<WorkReply> read_reply(ChildProcess& child, const WorkRequest& request, WorkReply::Kind kind,
                             std::chrono::milliseconds deadline) {
  MGTUNE_ASSIGN(const std::string line, child.read_line(after(deadline)));
  Result<WorkReply> reply = decode_reply(line);
  if (!reply.ok()) return std::move(reply).take_status().with_context("the worker's answer");
  if (reply->id != request.id || reply->kind != kind) {
    return corrupt("the worker's answer is to something else: " + line.substr(0, 120));
  }
  return reply;
}

WorkReply failure(const WorkRequest& request, Outcome outcome, std::string message) {
  WorkReply reply;
  reply.id = request.id;
  reply.outcome = outcome;
  reply.message = std::move(message);
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

Result<std::optional<WorkReply>> MeasureProcess::attempt(const WorkRequest& request,
                                                         bool& is_suspect) {
  is_suspect = false;
  if (child_) {
    child_->take_error_output();  // of earlier variants
  } else {
    MGTUNE_TRY(start());
  }
  Status status = child_->write_line(encode(request));
  if (status.ok()) {
    status = read_reply(*child_, request, WorkReply::Kind::begin, deadline_).status();
  }
  if (!status.ok()) {
    if (status.code() != StatusCode::io) child_->kill();
    failed_start_ = status.message() + " (" + end_worker() + ")";
    return std::optional<WorkReply>();
  }

  Result<WorkReply> reply = read_reply(*child_, request, WorkReply::Kind::done, deadline_);
  if (reply.ok()) return std::optional<WorkReply>(*std::move(reply));
  is_suspect = true;
  if (reply.status().code() == StatusCode::io) {
    return std::optional<WorkReply>(failure(request, Outcome::crashed, end_worker()));
  }
  child_->kill();
  child_.reset();
  if (reply.status().code() == StatusCode::timeout) {
    return std::optional<WorkReply>(
        failure(request, Outcome::timeout, fmt::format("not done within {}", deadline_)));
  }
  return std::optional<WorkReply>(failure(request, Outcome::crashed, reply.status().message()));
}

Result<WorkReply> MeasureProcess::measure(const WorkRequest& request) {
  bool is_retry = false;
  for (int starts = 0; starts < kStarts;) {
    bool is_suspect = false;
    MGTUNE_ASSIGN(std::optional<WorkReply> reply, attempt(request, is_suspect));
    if (!reply) {
      ++starts;
      continue;
    }
    if (!is_suspect || is_retry) return *std::move(reply);
    is_retry = true;
    starts = 0;
  }
  return environment_error(
      fmt::format("no measure worker begins its work ({} tried): {}", kStarts, failed_start_));
}

}  // namespace mgtune

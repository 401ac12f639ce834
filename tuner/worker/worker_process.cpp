#include "worker/worker_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "worker/crash_report.h"
#include "worker/worker_failure.h"

namespace mgtune {
namespace {

constexpr int kStarts = 3;  // in a row without a begin: then this worker can do nothing more

// A start that takes longer hangs: opening a GPU takes a second, showing that it is well less.
constexpr std::chrono::seconds kStartDeadline{60};

// The next reply to this request: corrupt for anything else.
Result<WorkReply> decode_answer(const std::string& line, const WorkRequest& request) {
  Result<WorkReply> reply = decode_reply(line);
  if (!reply.ok()) return std::move(reply).take_status().with_context("the worker's answer");
  if (reply->id != request.id) {
    return corrupt("the worker's answer is to something else: " + line.substr(0, 120));
  }
  return reply;
}

}  // namespace

WorkerProcess::WorkerProcess(std::vector<std::string> command, std::chrono::milliseconds deadline)
    : command_(std::move(command)), deadline_(deadline) {}

void WorkerProcess::submit(Task task) {
  work_ = Work{.task = std::move(task)};
  // A child that cannot be started is tried again, and shows, in poll().
  static_cast<void>(give());
}

void WorkerProcess::join(WaitSet& waiting) const {
  if (!work_) return;
  const bool has_news = !child_ || child_->output_descriptor() < 0;
  waiting.add(has_news ? Clock::now() : work_->deadline);
  if (has_news) return;
  waiting.add(child_->output_descriptor());
  waiting.add(child_->error_descriptor());
}

void WorkerProcess::dismiss() {
  if (child_) child_->end_input();
}

// Sends the request to the child, a new one where there is none.
Status WorkerProcess::give() {
  if (child_) {
    child_->take_error_output();  // of earlier variants
  } else {
    if (std::exchange(started_, true)) ++restarts_;
    MGTUNE_ASSIGN(child_, ChildProcess::start(command_));
  }
  work_->begun.reset();
  allow(std::min<std::chrono::milliseconds>(deadline_.most(), kStartDeadline));
  // A child that is gone shows when its answer is read.
  static_cast<void>(child_->write_line(encode(work_->task.request)));
  return {};
}

void WorkerProcess::allow(std::chrono::milliseconds time) {
  work_->allowed = time;
  work_->deadline = Clock::now() + time;
}

WorkerProcess::Poll WorkerProcess::poll() {
  while (work_) {
    if (!child_) {
      if (Status status = give(); !status.ok()) return give_back(std::move(status));
    }
    const Result<std::string> line = child_->read_line(Clock::now());
    if (line.status().code() == StatusCode::timeout && Clock::now() < work_->deadline) break;
    Result<WorkReply> reply =
        line.ok() ? decode_answer(*line, work_->task.request) : Result<WorkReply>(line.status());
    if (reply.ok() && reply->kind == WorkReply::Kind::begin) {
      work_->begun = *std::move(reply);
      work_->begun_at = Clock::now();
      const Task& task = work_->task;
      const bool is_at_variant = work_->begun->phase == WorkReply::Phase::variant;
      allow(is_at_variant ? deadline_.of(task.request) + task.more : deadline_.most());
      continue;
    }
    if (reply.ok() && !work_->begun) {
      reply = corrupt("the worker's answer comes before it began");
    }
    MGTUNE_ASSIGN(std::optional<Finished> finished,
                  reply.ok() ? take(*std::move(reply)) : lose(reply.status()));
    if (finished) return finished;
  }
  return std::optional<Finished>();
}

// Nobody knows what else is wrong with a child that failed, or whose GPU the variant took along.
WorkerProcess::Poll WorkerProcess::take(WorkReply reply) {
  if (reply.kind == WorkReply::Kind::failed || reply.outcome == Outcome::crashed) child_.reset();
  const auto took = std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - work_->begun_at);
  deadline_.learn(work_->task.request, reply, took);
  const bool again = is_worth_a_retry(work_->task.request, reply);
  return settle(std::move(reply), again);
}

// What becomes of the request when its child is gone, is late or talks nonsense.
WorkerProcess::Poll WorkerProcess::lose(const Status& reason) {
  if (reason.code() != StatusCode::io) child_->kill();
  LostWorker lost{reason, child_->end_description(), child_->ended_from_outside(), work_->allowed,
                  deadline_.yardstick(work_->task.request)};
  lost.end = crash_message(lost.end, child_->take_error_output());
  child_.reset();
  const WorkRequest& request = work_->task.request;
  if (work_->begun) {
    return settle(lost_reply(request, *work_->begun, lost), is_worth_a_retry(request, lost));
  }
  if (++work_->failed_starts < kStarts) return std::optional<Finished>();
  return give_back(
      environment_error(fmt::format("no {} worker begins its work ({} tried): {} ({})",
                                    worker_kind(request), kStarts, reason.message(), lost.end)));
}

// Another child's turn, or what comes of the request.
WorkerProcess::Poll WorkerProcess::settle(WorkReply reply, bool again) {
  if (again && !work_->task.is_retry) {
    work_->task.is_retry = true;
    work_->failed_starts = 0;
    return std::optional<Finished>();
  }
  Finished finished{std::move(work_->task.request), std::move(reply)};
  work_.reset();
  return std::optional(std::move(finished));
}

WorkerProcess::Poll WorkerProcess::give_back(Status why) {
  unbegun_ = std::move(work_->task);
  work_.reset();
  return why;
}

}  // namespace mgtune

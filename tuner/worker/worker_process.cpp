#include "worker/worker_process.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "system/processor_time.h"
#include "worker/worker_failure.h"

namespace mgtune {
namespace {

constexpr int kStarts = 3;  // after this many starts in a row without a `begin` we give up

// If a start takes longer, we assume that it hangs: opening a GPU takes a second, and its health
// check takes less.
constexpr std::chrono::seconds kStartDeadline{60};

// How many times as long a variant may take as the first variant of its problem.
constexpr int kDeadlineFactor = 20;
constexpr std::chrono::seconds kMinDeadline{5};

// A sweep works on one problem, and works ahead on the next one.
constexpr std::size_t kProblems = 2;

// Decodes a reply to this request. corrupt if the line is anything else.
Result<WorkReply> decode_answer(const std::string& line, const WorkRequest& request) {
  Result<WorkReply> reply = decode_reply(line);
  if (!reply.ok()) return std::move(reply).take_status().with_context("the worker's answer");
  if (reply->id != request.id) {
    return corrupt("the worker's answer is to something else: " + line.substr(0, 120));
  }
  return reply;
}

}  // namespace

std::optional<std::chrono::milliseconds> VariantDeadline::took(const WorkRequest& request) const {
  const auto* measure = std::get_if<MeasureRequest>(&request.work);
  if (measure == nullptr) return std::nullopt;
  const NamedProblem& problem = *measure;
  const auto known = std::ranges::find(known_, problem, &Known::problem);
  if (known == known_.end()) return std::nullopt;
  return known->took;
}

std::chrono::milliseconds VariantDeadline::of(const WorkRequest& request) const {
  const std::optional<std::chrono::milliseconds> first = took(request);
  if (!first) return limit_;
  return std::min<std::chrono::milliseconds>(
      limit_, std::max<std::chrono::milliseconds>(kMinDeadline, kDeadlineFactor * *first));
}

void VariantDeadline::learn(const WorkRequest& request, const WorkReply& reply,
                            std::chrono::milliseconds took_now) {
  const bool came_through = reply.outcome == Outcome::ok || reply.outcome == Outcome::raced_out;
  const auto* measure = std::get_if<MeasureRequest>(&request.work);
  if (measure == nullptr || !came_through || took(request)) return;
  known_.push_back({*measure, took_now});
  if (known_.size() > kProblems) known_.pop_front();
}

std::string VariantDeadline::basis(const WorkRequest& request) const {
  const std::optional<std::chrono::milliseconds> first = took(request);
  if (!first) return "";
  return fmt::format("; the first variant of the problem was done in {}", *first);
}

WorkerProcess::WorkerProcess(std::vector<std::string> command, std::chrono::milliseconds deadline,
                             Cores cores)
    : command_(std::move(command)), cores_(std::move(cores)), deadline_(deadline) {}

void WorkerProcess::submit(Task task) {
  if (!work_ && !next_.empty()) begin_next();
  if (work_) {
    next_.push_back({.task = std::move(task)});
    return send_next();
  }
  work_ = Work{.task = std::move(task)};
  // poll() starts a child again if it cannot be started here, and reports the failure.
  static_cast<void>(send_request());
}

void WorkerProcess::start() {
  if (child_ || !is_idle()) return;  // poll() starts a child if there is a request
  if (Result<ChildProcess> child = ChildProcess::start(command_, cores_); child.ok()) {
    child_ = *std::move(child);
    started_ = true;
  }
}

// Sends the waiting requests to the child. If a request is tried again, its child gets no other
// requests.
void WorkerProcess::send_next() {
  if (!child_ || !work_->begun || work_->task.is_retry) return;
  for (Next& next : next_) {
    if (std::exchange(next.is_sent, true)) continue;
    static_cast<void>(child_->write_line(encode(next.task.request)));
  }
}

// The previous request is over. The child may have begun the next request long ago, and even the
// ones after it, and may have written errors about them. So the errors that it has written until
// now may belong to any of the requests that it had.
void WorkerProcess::begin_next() {
  Next next = std::move(next_.front());
  next_.pop_front();
  work_ = Work{.task = std::move(next.task)};
  if (!next.is_sent || !child_) return static_cast<void>(send_request());
  const std::string errors = child_->read_error_output();
  earlier_errors_ = std::move(next.errors) + errors;
  for (Next& other : next_) {
    if (other.is_sent) other.errors += errors;
  }
  wait_for_begin();
}

std::vector<WorkerProcess::Task> WorkerProcess::return_next() {
  if (has_sent_next()) end_child();
  std::vector<Task> tasks;
  for (Next& next : std::exchange(next_, {})) tasks.push_back(std::move(next.task));
  return tasks;
}

bool WorkerProcess::has_sent_next() const {
  return std::ranges::any_of(next_, [](const Next& next) { return next.is_sent; });
}

// If the child already has other requests, it is killed, because otherwise it would continue with
// them.
void WorkerProcess::end_child() {
  if (has_sent_next() && child_) child_->kill();
  for (Next& next : next_) next = {.task = std::move(next.task)};
  child_.reset();
}

void WorkerProcess::join(WaitSet& waiting) const {
  if (!work_ && !next_.empty()) waiting.add(Clock::now());
  if (!work_) return;
  const bool has_news = !child_ || child_->output_descriptor() < 0;
  waiting.add(has_news ? Clock::now() : work_->deadline);
  if (has_news) return;
  waiting.add(child_->output_descriptor());
  waiting.add(child_->error_descriptor());
}

Result<WorkReply> WorkerProcess::run(WorkRequest request) {
  submit({std::move(request)});
  MGTUNE_ASSIGN(std::optional<Finished> finished, wait_for_next(*this));
  const WorkReply& reply = finished->reply;
  if (reply.kind == WorkReply::Kind::failed) return end_of_sweep(finished->request, reply);
  if (finished->request.is<CountRequest>() && reply.outcome == Outcome::ok && !reply.counters) {
    return internal_error("the count worker answered without counters");
  }
  return std::move(finished->reply);
}

void WorkerProcess::dismiss() {
  if (child_) child_->end_input();
}

// Sends the request to the child; starts a child if there is none.
Status WorkerProcess::send_request() {
  if (child_) {
    child_->read_error_output();  // drops the output of earlier variants
  } else {
    if (std::exchange(started_, true)) ++restarts_;
    MGTUNE_ASSIGN(child_, ChildProcess::start(command_, cores_));
  }
  earlier_errors_.clear();
  work_->begun.reset();
  wait_for_begin();
  // If the child has ended, reading its answer will say so.
  static_cast<void>(child_->write_line(encode(work_->task.request)));
  return {};
}

void WorkerProcess::wait_for_begin() {
  set_deadline(std::min<std::chrono::milliseconds>(deadline_.limit(), kStartDeadline));
}

void WorkerProcess::set_deadline(std::chrono::milliseconds time) {
  work_->allowed = time;
  work_->deadline = Clock::now() + time;
}

WorkerProcess::Poll WorkerProcess::poll() {
  if (!work_ && !next_.empty()) begin_next();
  while (work_) {
    if (!child_) {
      if (Status status = send_request(); !status.ok()) return fail_unstarted(std::move(status));
    }
    const Result<std::string> line = child_->read_line(Clock::now());
    if (line.status().code() == StatusCode::timeout && Clock::now() < work_->deadline) break;
    Result<WorkReply> reply =
        line.ok() ? decode_answer(*line, work_->task.request) : Result<WorkReply>(line.status());
    if (reply.ok() && reply->kind == WorkReply::Kind::begin) {
      work_->begun = *std::move(reply);
      work_->begun_at = Clock::now();
      const Task& task = work_->task;
      if (task.request.is<CompileRequest>()) {
        work_->used_before = processor_time_of(child_->pid());
      }
      const bool is_at_variant = work_->begun->phase == WorkReply::Phase::variant;
      set_deadline(is_at_variant ? deadline_.of(task.request) + task.extra_time
                                 : deadline_.limit());
      send_next();
      continue;
    }
    if (reply.ok() && !work_->begun) {
      reply = corrupt("the worker answered before it began");
    }
    MGTUNE_ASSIGN(std::optional<Finished> finished,
                  reply.ok() ? receive(*std::move(reply)) : handle_loss(reply.status()));
    if (finished) return finished;
  }
  return std::optional<Finished>();
}

// If a child failed, or if its variant crashed the GPU or took too long, the child may be damaged
// in other ways, so it is ended.
WorkerProcess::Poll WorkerProcess::receive(WorkReply reply) {
  const bool is_starved = reply.outcome == Outcome::timeout && is_starved_compiler();
  const bool retry = is_worth_a_retry(work_->task.request, reply);
  const bool failed = reply.kind == WorkReply::Kind::failed || reply.outcome == Outcome::crashed;
  if (failed || retry) end_child();
  auto took = std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - work_->begun_at);
  if (reply.seconds) {  // this process may have read `begin` late
    const std::chrono::duration<double> own(reply.seconds->load + reply.seconds->measure);
    took = std::max(took, std::chrono::ceil<std::chrono::milliseconds>(own));
  }
  deadline_.learn(work_->task.request, reply, took);
  return finish_or_retry({.request = {}, .reply = std::move(reply), .is_starved = is_starved},
                         retry);
}

// Whether the compiler is late only because it got too little processor time. A compiler that
// really hangs keeps a processor busy.
bool WorkerProcess::is_starved_compiler() const {
  if (!work_->begun || !work_->task.request.is<CompileRequest>()) return false;
  return is_starved(processor_time_below(child_->pid()) - work_->used_before,
                    std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - work_->begun_at));
}

// The child has ended, missed its deadline or sent a malformed answer.
WorkerProcess::Poll WorkerProcess::handle_loss(const Status& reason) {
  const bool is_starved = reason.code() == StatusCode::timeout && is_starved_compiler();
  if (reason.code() != StatusCode::io) child_->kill();
  LostWorker lost{reason, child_->end_description(), child_->ended_from_outside(), work_->allowed,
                  deadline_.basis(work_->task.request)};
  lost.end = crash_message(lost.end, earlier_errors_ + child_->read_error_output());
  end_child();
  const WorkRequest& request = work_->task.request;
  if (work_->begun) {
    Finished finished{
        .request = {}, .reply = lost_reply(request, *work_->begun, lost), .is_starved = is_starved};
    if (lost.from_outside) finished.killed_in = work_->begun->phase;
    return finish_or_retry(std::move(finished), is_worth_a_retry(request, lost));
  }
  if (++work_->failed_starts < kStarts) return std::optional<Finished>();
  return fail_unstarted(
      environment_error(fmt::format("no {} worker begins its work ({} tried): {} ({})",
                                    worker_kind(request), kStarts, reason.message(), lost.end)));
}

// Gives the request to a new child if it deserves a first retry; otherwise the request is finished,
// and is moved into `finished` here.
WorkerProcess::Poll WorkerProcess::finish_or_retry(Finished finished, bool retry) {
  if (retry && !work_->task.is_retry) {
    work_->task.is_retry = true;
    work_->failed_starts = 0;
    return std::optional<Finished>();
  }
  finished.request = std::move(work_->task.request);
  work_.reset();
  return std::optional(std::move(finished));
}

WorkerProcess::Poll WorkerProcess::fail_unstarted(Status why) {
  unstarted_ = std::move(work_->task);
  work_.reset();
  return why;
}

}  // namespace mgtune

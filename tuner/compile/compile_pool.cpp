#include "compile/compile_pool.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "worker/crash_report.h"
#include "worker/worker_failure.h"

namespace mgtune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFailedStarts = 3;  // in a row: then nothing more can be compiled

// Variants that need too much memory stand side by side in a space; as many in a row as this are
// taken for a machine that has none left.
constexpr int kMostSuspects = 8;

bool is_of_the_machine(const WorkReply& reply) {
  return reply.kind == WorkReply::Kind::failed && reply.failure == StatusCode::environment;
}

}  // namespace

CompilePool::CompilePool(std::vector<std::string> command, std::size_t processes,
                         std::chrono::milliseconds deadline)
    : command_(std::move(command)),
      deadline_(deadline),
      slots_(std::max<std::size_t>(processes, 1)) {}

void CompilePool::submit(WorkRequest request) {
  waiting_.push_back({.request = std::move(request)});
  // A free worker starts at once, while the caller measures. One that cannot be started shows in
  // next().
  static_cast<void>(feed());
}

std::size_t CompilePool::running() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(slots_, [](const Slot& slot) { return slot.running.has_value(); }));
}

std::size_t CompilePool::pending() const {
  return waiting_.size() + running() + suspects_.size() + finished_.size();
}

Status CompilePool::give(Slot& slot, Work work) {
  if (slot.child) {
    slot.child->take_error_output();  // of earlier variants
  } else {
    MGTUNE_ASSIGN(slot.child, ChildProcess::start(command_));
  }
  slot.begun = false;
  slot.deadline = Clock::now() + deadline_;
  // A worker that is gone shows when its answer is read.
  static_cast<void>(slot.child->write_line(encode(work.request)));
  slot.running = std::move(work);
  return {};
}

Status CompilePool::feed() {
  for (Slot& slot : slots_) {
    if (waiting_.empty()) return {};
    if (slot.running) continue;
    const bool beside_alone = std::ranges::any_of(
        slots_, [](const Slot& other) { return other.running && other.running->alone; });
    if (beside_alone || (waiting_.front().alone && running() > 0)) return {};
    MGTUNE_TRY(give(slot, waiting_.front()));
    waiting_.pop_front();
  }
  return {};
}

// Until a worker has something to say or is late.
void CompilePool::wait() const {
  std::vector<pollfd> ready;
  Clock::time_point first = Clock::time_point::max();
  for (const Slot& slot : slots_) {
    if (!slot.running) continue;
    if (slot.child->output_descriptor() < 0) return;  // its end was seen already
    ready.push_back({slot.child->output_descriptor(), POLLIN, 0});
    ready.push_back({slot.child->error_descriptor(), POLLIN, 0});
    first = std::min(first, slot.deadline);
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now()).count();
  ::poll(ready.data(), ready.size(),
         static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000)));
}

// What becomes of a slot's request when its worker is gone, is late or talks nonsense.
Result<std::optional<WorkReply>> CompilePool::lose(Slot& slot, const Status& reason) {
  Work work = *std::exchange(slot.running, std::nullopt);
  if (reason.code() != StatusCode::io) slot.child->kill();
  const std::string end = slot.child->end_description();
  const bool from_outside = slot.child->ended_from_outside();
  const std::string said = crash_message(end, slot.child->take_error_output());
  slot.child.reset();
  if (!slot.begun) {
    if (++failed_starts_ >= kFailedStarts) {
      return environment_error(fmt::format("no compile worker begins its work ({} tried): {} ({})",
                                           kFailedStarts, reason.message(), said));
    }
    waiting_.push_front(std::move(work));
    return std::optional<WorkReply>();
  }
  WorkReply reply;
  reply.id = work.request.id;
  reply.outcome = Outcome::compile_failed;
  reply.message = reason.code() == StatusCode::io ? "compile worker: " + said : reason.message();
  if (reason.code() == StatusCode::timeout) {
    reply.outcome = Outcome::timeout;
    reply.message = fmt::format("the compiler was not done within {}", deadline_);
  } else if (from_outside) {
    reply = failed_reply(work.request, environment_error("the compile worker was " + said +
                                                         "; is the machine short of memory?"));
  }
  const bool again = reason.code() != StatusCode::timeout;
  return settle(std::move(work), std::move(reply), again);
}

// Another worker's turn, or what comes of the request.
Result<std::optional<WorkReply>> CompilePool::settle(Work work, WorkReply reply, bool again) {
  if (again && !work.is_retry) {
    work.is_retry = true;
    work.alone = is_of_the_machine(reply);
    waiting_.push_front(std::move(work));
    return std::optional<WorkReply>();
  }
  if (work.alone && is_of_the_machine(reply)) {
    MGTUNE_TRY(suspect(work.request, std::move(reply)));
    return std::optional<WorkReply>();
  }
  if (reply.kind == WorkReply::Kind::failed) return end_of_sweep(work.request, reply);
  return std::optional<WorkReply>(std::move(reply));
}

Status CompilePool::suspect(const WorkRequest& request, WorkReply failed) {
  if (++suspects_in_a_row_ == kMostSuspects) {
    suspects_in_a_row_ = 0;
    suspects_.clear();
    return end_of_sweep(request, failed);
  }
  suspects_.push_back({request, std::move(failed)});
  if (compiles_) charge_suspects();
  return {};
}

void CompilePool::charge_suspects() {
  for (const Suspect& suspect : suspects_) {
    WorkReply& reply = finished_.emplace_back();
    reply.id = suspect.request.id;
    reply.outcome = Outcome::compile_failed;
    reply.failure = StatusCode::environment;
    reply.message = suspect.failed.message +
                    "\ntwice, the second time with no other compiler running, while other variants "
                    "compile; the same command tries it again";
  }
  suspects_.clear();
}

Result<std::optional<WorkReply>> CompilePool::collect(Slot& slot) {
  while (true) {
    const Result<std::string> line = slot.child->read_line(Clock::now());
    if (line.status().code() == StatusCode::timeout && Clock::now() < slot.deadline) {
      return std::optional<WorkReply>();
    }
    if (!line.ok()) return lose(slot, line.status());
    Result<WorkReply> reply = decode_reply(*line);
    if (!reply.ok()) return lose(slot, reply.status());
    if (reply->id != slot.running->request.id) {
      return lose(slot,
                  corrupt("the worker's answer is to something else: " + line->substr(0, 120)));
    }
    if (reply->kind == WorkReply::Kind::done) {
      slot.running.reset();
      compiles_ = true;
      suspects_in_a_row_ = 0;
      charge_suspects();
      return std::optional<WorkReply>(*std::move(reply));
    }
    if (reply->kind == WorkReply::Kind::failed) {
      slot.child.reset();  // nobody knows what else is wrong with it
      const bool again = is_worth_a_retry(slot.running->request, *reply);
      return settle(*std::exchange(slot.running, std::nullopt), *std::move(reply), again);
    }
    slot.begun = true;
    slot.deadline = Clock::now() + deadline_;
    failed_starts_ = 0;
  }
}

Result<std::optional<WorkReply>> CompilePool::next() {
  while (pending() > 0) {
    if (!finished_.empty()) {
      std::optional<WorkReply> reply(std::move(finished_.front()));
      finished_.pop_front();
      return reply;
    }
    MGTUNE_TRY(feed());
    if (running() == 0) {  // nothing is left that could clear the machine
      const Suspect first = std::move(suspects_.front());
      suspects_.clear();
      return end_of_sweep(first.request, first.failed);
    }
    wait();
    for (Slot& slot : slots_) {
      if (!slot.running) continue;
      MGTUNE_ASSIGN(std::optional<WorkReply> reply, collect(slot));
      if (reply) return reply;
    }
  }
  return std::optional<WorkReply>();
}

}  // namespace mgtune

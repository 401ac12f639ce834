#include "compile/compile_pool.h"

#include <algorithm>
#include <utility>

#include "worker/worker_failure.h"

namespace mgtune {
namespace {

// Variants that need too much memory are neighbours in a space. After this many suspects in a row
// we take it that the machine has no memory left.
constexpr int kMaxSuspects = 8;

bool is_machine_failure(const WorkReply& reply) {
  return reply.kind == WorkReply::Kind::failed && reply.failure == StatusCode::environment;
}

}  // namespace

CompilePool::CompilePool(const std::vector<std::string>& command, std::size_t processes,
                         std::chrono::milliseconds deadline) {
  const std::size_t count = std::max<std::size_t>(processes, 1);
  slots_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) slots_.push_back({WorkerProcess(command, deadline)});
}

CompilePool::~CompilePool() {
  for (Slot& slot : slots_) slot.worker.dismiss();
}

void CompilePool::submit(WorkRequest request) {
  waiting_.push_back({std::move(request)});
  feed();
}

std::size_t CompilePool::running() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(slots_, [](const Slot& slot) { return !slot.worker.is_idle(); }));
}

std::size_t CompilePool::pending() const {
  return waiting_.size() + running() + suspects_.size() + finished_.size();
}

void CompilePool::drop_waiting() {
  waiting_.clear();
  suspects_.clear();
}

void CompilePool::feed() {
  for (Slot& slot : slots_) {
    if (waiting_.empty()) return;
    if (!slot.worker.is_idle()) continue;
    const bool beside_alone = std::ranges::any_of(
        slots_, [](const Slot& other) { return !other.worker.is_idle() && other.alone; });
    if (beside_alone || (waiting_.front().alone && running() > 0)) return;
    slot.alone = waiting_.front().alone;
    slot.worker.submit({std::move(waiting_.front().request)});
    waiting_.pop_front();
  }
}

Status CompilePool::suspect(WorkerProcess::Finished failed) {
  if (++suspects_in_a_row_ == kMaxSuspects) {
    suspects_in_a_row_ = 0;
    suspects_.clear();
    return end_of_sweep(failed.request, failed.reply);
  }
  suspects_.push_back(std::move(failed));
  if (compiles_) charge_suspects();
  return {};
}

void CompilePool::charge_suspects() {
  for (const WorkerProcess::Finished& suspect : suspects_) {
    WorkReply& reply = finished_.emplace_back();
    reply.id = suspect.request.id;
    reply.outcome = Outcome::compile_failed;
    reply.failure = StatusCode::environment;
    reply.message = suspect.reply.message +
                    "\ntwice, the second time with no other compiler running, while other variants "
                    "compile; the same command tries it again";
  }
  suspects_.clear();
}

// The reply for a finished request; nullopt while it is still open.
Result<std::optional<WorkReply>> CompilePool::receive(WorkerProcess::Finished finished,
                                                      bool alone) {
  if (is_machine_failure(finished.reply) && !alone) {
    waiting_.push_front({std::move(finished.request), true});
    return std::optional<WorkReply>();
  }
  if (is_machine_failure(finished.reply)) {
    MGTUNE_TRY(suspect(std::move(finished)));
    return std::optional<WorkReply>();
  }
  if (finished.reply.kind == WorkReply::Kind::failed) {
    return end_of_sweep(finished.request, finished.reply);
  }
  if (finished.reply.build.has_value()) {  // a compiler has run to its end
    compiles_ = true;
    suspects_in_a_row_ = 0;
    charge_suspects();
  }
  return std::optional(std::move(finished.reply));
}

Result<std::optional<WorkReply>> CompilePool::poll() {
  feed();
  for (Slot& slot : slots_) {
    if (slot.worker.is_idle()) continue;
    MGTUNE_ASSIGN(std::optional<WorkerProcess::Finished> finished, slot.worker.poll());
    if (!finished) continue;
    MGTUNE_ASSIGN(std::optional<WorkReply> reply, receive(*std::move(finished), slot.alone));
    feed();  // a free worker starts before the caller handles the reply
    if (reply) return reply;
  }
  if (!finished_.empty()) {
    std::optional<WorkReply> reply(std::move(finished_.front()));
    finished_.pop_front();
    return reply;
  }
  if (!suspects_.empty() && running() == 0) {  // no other variant can show that the machine works
    const WorkerProcess::Finished first = std::move(suspects_.front());
    suspects_.clear();
    return end_of_sweep(first.request, first.reply);
  }
  return std::optional<WorkReply>();
}

void CompilePool::join(WaitSet& waiting) const {
  const bool has_news = !finished_.empty() || (!suspects_.empty() && running() == 0);
  if (has_news) waiting.add(WaitSet::Clock::now());
  for (const Slot& slot : slots_) slot.worker.join(waiting);
}

}  // namespace mgtune

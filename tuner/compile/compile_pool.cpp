#include "compile/compile_pool.h"

#include <algorithm>
#include <utility>

namespace mgtune {

CompilePool::CompilePool(const std::vector<std::string>& command, std::size_t processes,
                         std::chrono::milliseconds deadline) {
  const std::size_t count = std::max<std::size_t>(processes, 1);
  workers_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) workers_.emplace_back(command, deadline);
}

void CompilePool::submit(WorkRequest request) {
  waiting_.push_back(std::move(request));
  feed();
}

void CompilePool::feed() {
  for (WorkerProcess& worker : workers_) {
    if (waiting_.empty()) return;
    if (!worker.is_idle()) continue;
    worker.submit(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

std::size_t CompilePool::pending() const {
  const auto busy = std::ranges::count_if(
      workers_, [](const WorkerProcess& worker) { return !worker.is_idle(); });
  return waiting_.size() + static_cast<std::size_t>(busy);
}

void CompilePool::drop_waiting() { waiting_.clear(); }

Result<std::optional<WorkReply>> CompilePool::poll() {
  for (WorkerProcess& worker : workers_) {
    if (worker.is_idle()) continue;
    MGTUNE_ASSIGN(std::optional<WorkReply> reply, worker.poll());
    if (!reply) continue;
    feed();  // before the caller has a look at the reply
    return reply;
  }
  return std::optional<WorkReply>();
}

void CompilePool::join(WaitSet& waiting) const {
  for (const WorkerProcess& worker : workers_) worker.join(waiting);
}

Result<std::optional<WorkReply>> CompilePool::next() {
  while (pending() > 0) {
    MGTUNE_ASSIGN(std::optional<WorkReply> reply, poll());
    if (reply) return reply;
    WaitSet waiting;
    join(waiting);
    waiting.wait();
  }
  return std::optional<WorkReply>();
}

}  // namespace mgtune

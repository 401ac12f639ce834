#include "worker_pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "fault_handler.h"

namespace mgtune {
namespace {

constexpr std::chrono::milliseconds kReminder{20};

}  // namespace

WorkerPool::WorkerPool(std::size_t workers) {
  for (std::size_t i = 0; i < workers; ++i) {
    auto worker = std::make_unique<Worker>();
    worker->block = std::make_unique<Block>();
    worker->thread = std::thread([this, pointer = worker.get()] { work(*pointer); });
    workers_.push_back(std::move(worker));
  }
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  work_ready_.notify_all();
  for (const auto& worker : workers_) worker->thread.join();
}

bool WorkerPool::done() const {
  const bool left = next_block_ < block_count_ && failure_.ok();
  return !left && std::ranges::none_of(workers_, [](const auto& worker) { return worker->busy; });
}

Status WorkerPool::run(const BlockTask& task) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (const auto& worker : workers_) worker->block->clear_expired();
  task_ = &task;
  next_block_ = 0;
  block_count_ = count(task.grid);
  failure_ = Status();
  const std::uint64_t wanted = std::min<std::uint64_t>(workers_.size(), block_count_);
  for (std::uint64_t i = 0; i < wanted; ++i) work_ready_.notify_one();
  wait_until_done(lock, task);
  task_ = nullptr;
  block_count_ = next_block_ = 0;
  return std::exchange(failure_, Status());
}

void WorkerPool::wait_until_done(std::unique_lock<std::mutex>& lock, const BlockTask& task) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                             std::chrono::duration<double>(task.deadline_s));
  if (work_done_.wait_until(lock, deadline, [this] { return done(); })) return;
  do {
    for (const auto& worker : workers_) {
      worker->block->expire();
      if (worker->busy) interrupt_worker(worker->thread.native_handle());
    }
  } while (!work_done_.wait_for(lock, kReminder, [this] { return done(); }));
}

void WorkerPool::work(Worker& worker) {
  const WorkerSignals signals(*worker.block);
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    work_ready_.wait(lock,
                     [this] { return stopping_ || (next_block_ < block_count_ && failure_.ok()); });
    if (stopping_) return;
    worker.busy = true;
    while (next_block_ < block_count_ && failure_.ok()) {
      const std::uint64_t index = next_block_++;
      lock.unlock();
      Status status = worker.block->run(*task_, index);
      lock.lock();
      if (!status.ok() && (failure_.ok() || index < failed_block_)) {
        failure_ = std::move(status);
        failed_block_ = index;
      }
    }
    worker.busy = false;
    work_done_.notify_one();
  }
}

}  // namespace mgtune

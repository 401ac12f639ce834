// WorkerPool: OS threads that run the blocks of a launch, one block each at a time, lowest index
// first. The thread that launches waits and is the watchdog: blocks that still run at the deadline
// are expired, and a signal (SIGRTMIN+1) takes a thread out of an endless loop of kernel code.

#pragma once

#include <pthread.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "block.h"
#include "core/status.h"

namespace mgtune {

class WorkerPool {
 public:
  explicit WorkerPool(std::size_t workers);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Runs all blocks of the task. Returns the failure of the lowest block that failed. One call at a
  // time.
  Status run(const BlockTask& task);

 private:
  struct Worker {
    std::unique_ptr<Block> block;
    std::thread thread;
    bool busy = false;
  };

  void work(Worker& worker);
  void wait_until_done(std::unique_lock<std::mutex>& lock, const BlockTask& task);
  bool done() const;

  std::mutex mutex_;  // guards everything below, and Worker::busy
  std::condition_variable work_ready_, work_done_;
  std::vector<std::unique_ptr<Worker>> workers_;
  const BlockTask* task_ = nullptr;
  std::uint64_t next_block_ = 0, block_count_ = 0;
  std::uint64_t failed_block_ = 0;
  Status failure_;
  bool stopping_ = false;
};

}  // namespace mgtune

// Signals of the worker threads.
//
// SIGSEGV, SIGBUS, SIGFPE and SIGILL of kernel code write one line to standard error (block,
// thread, and the buffer or stack that was left, then the source line) and end the process the way
// the signal does: nothing can be known about memory any more. Whoever launches runs in a process
// to spare. SIGRTMIN+1 takes a worker out of an endless loop of kernel code: see WorkerPool.

#pragma once

#include <pthread.h>

#include <memory>

#include "block.h"
#include "device_memory.h"

namespace mgtune {

// Once per process, before workers start; `memory` stays.
void install_fault_handlers(const DeviceMemory& memory);

void interrupt_worker(pthread_t worker);

// Makes the calling thread the worker of `block`, with a stack of its own for signal handlers: the
// fiber's may be what overflowed.
class WorkerSignals {
 public:
  explicit WorkerSignals(Block& block);
  ~WorkerSignals();
  WorkerSignals(const WorkerSignals&) = delete;
  WorkerSignals& operator=(const WorkerSignals&) = delete;

 private:
  std::unique_ptr<char[]> stack_;
};

}  // namespace mgtune

// Signals of the worker threads.
//
// SIGSEGV, SIGBUS, SIGFPE and SIGILL of kernel code write one line to standard error (block,
// thread, and the buffer or stack that was left, then the source line) and end the process the way
// the signal does: nothing can be known about memory any more. Whoever launches runs in a process
// to spare. SIGRTMIN+1 takes a worker out of an endless loop of kernel code: see WorkerPool.
//
// Threads: install_fault_handlers() before any; interrupt_worker() from any.

#pragma once

#include <pthread.h>
#include <signal.h>

#include <cstdint>
#include <memory>

#include "block.h"
#include "device_memory.h"
#include "signal_text.h"

namespace mgtune {

// Once per process, before workers start; `memory` stays.
void install_fault_handlers(const DeviceMemory& memory);

void interrupt_worker(pthread_t worker);

// What a signal handler leaves for report_crash().
struct Crash {
  int signal = 0;  // 0: none yet
  const void* address = nullptr;
  std::uintptr_t instruction = 0;
  bool writes = false;
};

// Makes the calling thread the worker of `block`. Signals get stacks of their own, as the fiber's
// may be what overflowed: one for the handlers and one for the report, which is
// written after the handler has returned where that can be arranged (x86-64), and needs no heap
// until all but the source line is out.
class WorkerSignals {
 public:
  explicit WorkerSignals(Block& block);
  ~WorkerSignals();
  WorkerSignals(const WorkerSignals&) = delete;
  WorkerSignals& operator=(const WorkerSignals&) = delete;

  Crash crash;
  SignalText text;  // of the report
  std::uintptr_t report_stack_top() const;

 private:
  std::unique_ptr<char[]> handler_stack_, report_stack_;
  stack_t previous_stack_{};  // a sanitizer's; its mapping is lost where it is not put back
};

}  // namespace mgtune

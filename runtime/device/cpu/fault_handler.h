// Signals of the worker threads.
//
// SIGSEGV, SIGBUS, SIGFPE and SIGILL of kernel code write one line to standard error: block and
// thread, the buffer or stack that was exceeded, then the source line. Then the process ends as the
// signal ends it, because memory can no longer be trusted. So whoever launches must run in a
// process that may die. SIGRTMIN+1 takes a worker out of an endless loop of kernel code: see
// WorkerPool.
//
// Threads: call install_fault_handlers() before any thread starts. Any thread may call
// interrupt_worker().

#pragma once

#include <pthread.h>
#include <signal.h>

#include <cstdint>
#include <memory>

#include "block.h"
#include "device_memory.h"
#include "signal_text.h"

namespace mgtune {

// Call it once per process, before workers start. `memory` must live until the process ends.
void install_fault_handlers(const DeviceMemory& memory);

void interrupt_worker(pthread_t worker);

// What a signal handler stores for report_crash().
struct Crash {
  int signal = 0;  // 0: none yet
  const void* address = nullptr;
  std::uintptr_t instruction = 0;
  bool writes = false;
};

// Makes the calling thread the worker of `block`. Signals have their own stacks, because the stack
// of the fiber may be the one that overflowed: one stack for the handlers and one for the report.
// Where possible (x86-64) the report is written after the handler has returned. It uses the heap
// only for the source line, which comes last.
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
  stack_t previous_stack_{};  // of a sanitizer; must be restored, or its mapping is lost
};

}  // namespace mgtune

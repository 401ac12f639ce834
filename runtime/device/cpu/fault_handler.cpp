#include "fault_handler.h"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>

#include "fault.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace mgtune {
namespace {

constexpr std::size_t kHandlerStackBytes = 64 << 10;
constexpr std::size_t kReportStackBytes = 256 << 10;
constexpr std::array<int, 4> kFaultSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

const DeviceMemory* device_memory = nullptr;
std::array<struct sigaction, kFaultSignals.size()> previous_actions;
MGCPU_THREAD_LOCAL WorkerSignals* signals_of_this_thread = nullptr;

int interrupt_signal() { return SIGRTMIN + 1; }

void describe(const Block& block, const Crash& crash, SignalText& text) {
  if (crash.signal == SIGFPE) return text.add("integer division by zero");
  if (crash.signal == SIGILL) return text.add("illegal instruction");
  if (const auto owner = block.stacks().guard_owner(crash.address)) {
    text.add("stack overflow of ");
    return block.add_thread(*owner, text);
  }
  text.add("{} ", crash.writes ? "writes" : "reads");
  device_memory->describe(crash.address, text);
}

// Writes what happened and ends the process by the same signal. Everything that needs no heap is
// written before the source line is looked up, which needs all of C++. So if the kernel left the
// heap damaged or locked, only the source line is missing.
[[noreturn]] void report_crash() {
  // Blocks on several threads often fail in the same way at the same time. The first one reports;
  // the others wait for the end of the process.
  static std::atomic<bool> is_reported{false};
  while (is_reported.exchange(true)) pause();
  WorkerSignals& signals = *signals_of_this_thread;
  const Block& block = *current_block();
  SignalText& text = signals.text;
  text.add("mgtune cpu device: ");
  block.add_place(text);
  text.add(": ");
  describe(block, signals.crash, text);
  text.write();
  if (signals.crash.instruction != 0) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel gives the address as a number
    const auto* const after = reinterpret_cast<const void*>(signals.crash.instruction + 1);
    text.add(" at {}", source_line(after));
  }
  text.add("\n");
  text.write();
  std::signal(signals.crash.signal, SIG_DFL);
  std::raise(signals.crash.signal);
  std::abort();
}

#if defined(__x86_64__)

// Makes the interrupted thread continue in `function` with `argument`.
void redirect(ucontext_t& context, std::uintptr_t stack, void (*function)(),
              std::uintptr_t argument) {
  auto& registers = context.uc_mcontext.gregs;
  registers[REG_RDI] = static_cast<greg_t>(argument);
  registers[REG_RIP] = reinterpret_cast<greg_t>(function);
  registers[REG_RSP] = static_cast<greg_t>((stack & ~std::uintptr_t{15}) - 8);  // as after a call
}

void on_fault(int signal, siginfo_t* info, void* raw_context) {
  auto& context = *static_cast<ucontext_t*>(raw_context);
  WorkerSignals* const signals = signals_of_this_thread;
  if (signals == nullptr || !current_block()->in_thread() || signals->crash.signal != 0) {
    // The signal is not from a kernel, or it is from the report itself. Returning repeats it, with
    // the previous handler.
    for (std::size_t i = 0; i < kFaultSignals.size(); ++i) {
      if (kFaultSignals[i] == signal) sigaction(signal, &previous_actions[i], nullptr);
    }
    return;
  }
  constexpr greg_t kWriteBit = 2;  // of the page fault's error code
  const auto& registers = context.uc_mcontext.gregs;
  signals->crash = {signal, info->si_addr, static_cast<std::uintptr_t>(registers[REG_RIP]),
                    (registers[REG_ERR] & kWriteBit) != 0};
  redirect(context, signals->report_stack_top(), report_crash, 0);
}

[[noreturn]] void abandon_thread(const void* address) { current_block()->fail_expired(address); }

// Kernel code holds no lock and owns nothing, so it can be left anywhere. Other code (our own,
// libm, a sanitizer that reports) must finish first: the next signal will find the thread back in
// the kernel.
void on_interrupt(int, siginfo_t*, void* raw_context) {
  auto& context = *static_cast<ucontext_t*>(raw_context);
  const Block* const block = current_block();
  const auto instruction = static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
  if (block == nullptr || !block->expired() || !block->in_kernel_code(instruction)) return;
  constexpr std::uintptr_t kRedZone = 128;
  const auto stack = static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RSP]) - kRedZone;
  redirect(context, stack, reinterpret_cast<void (*)()>(&abandon_thread), instruction + 1);
}

#else

void on_fault(int signal, siginfo_t* info, void*) {
  WorkerSignals* const signals = signals_of_this_thread;
  if (signals != nullptr && current_block()->in_thread() && signals->crash.signal == 0) {
    signals->crash = {signal, info->si_addr, 0, false};
    report_crash();
  }
  std::signal(signal, SIG_DFL);
}

void on_interrupt(int, siginfo_t*, void*) {}

#endif

#if defined(__SANITIZE_ADDRESS__)
void on_sanitizer_error() {
  const Block* const block = current_block();
  if (block != nullptr && block->in_thread()) {
    SignalText text;
    text.add("mgtune cpu device: ");
    block->add_place(text);
    text.add(": the above\n");
    text.write();
  }
}
#endif

}  // namespace

void install_fault_handlers(const DeviceMemory& memory) {
  device_memory = &memory;
  struct sigaction action {};
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  action.sa_sigaction = on_fault;
  for (std::size_t i = 0; i < kFaultSignals.size(); ++i) {
    sigaction(kFaultSignals[i], &action, &previous_actions[i]);
  }
  action.sa_flags |= SA_RESTART;
  action.sa_sigaction = on_interrupt;
  sigaction(interrupt_signal(), &action, nullptr);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(on_sanitizer_error);
#endif
}

void interrupt_worker(pthread_t worker) { pthread_kill(worker, interrupt_signal()); }

WorkerSignals::WorkerSignals(Block& block)
    : handler_stack_(new char[kHandlerStackBytes]), report_stack_(new char[kReportStackBytes]) {
  current_block() = &block;
  signals_of_this_thread = this;
  stack_t stack{};
  stack.ss_sp = handler_stack_.get();
  stack.ss_size = kHandlerStackBytes;
  sigaltstack(&stack, &previous_stack_);
}

WorkerSignals::~WorkerSignals() {
  sigaltstack(&previous_stack_, nullptr);
  signals_of_this_thread = nullptr;
  current_block() = nullptr;
}

std::uintptr_t WorkerSignals::report_stack_top() const {
  return reinterpret_cast<std::uintptr_t>(report_stack_.get()) + kReportStackBytes;
}

}  // namespace mgtune

#include "fault_handler.h"

#include <fmt/format.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "source_line.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace mgtune {
namespace {

constexpr std::size_t kSignalStackBytes = 256 << 10;
constexpr std::array<int, 4> kFaultSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

const DeviceMemory* device_memory = nullptr;
std::array<struct sigaction, kFaultSignals.size()> previous_actions;

int interrupt_signal() { return SIGRTMIN + 1; }

void write_error(const std::string& text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

#if defined(__x86_64__)
std::uintptr_t instruction_of(const ucontext_t& context) {
  return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
}
const char* access_of(const ucontext_t& context) {
  constexpr greg_t kWriteBit = 2;  // of the page fault's error code
  return (context.uc_mcontext.gregs[REG_ERR] & kWriteBit) != 0 ? "writes" : "reads";
}
#else
std::uintptr_t instruction_of(const ucontext_t&) { return 0; }
const char* access_of(const ucontext_t&) { return "touches"; }
#endif

std::string describe(const Block& block, int signal, const siginfo_t& info,
                     const ucontext_t& context) {
  if (signal != SIGSEGV && signal != SIGBUS) {
    return std::string(signal == SIGFPE ? "integer division by zero" : "illegal instruction") +
           " (" + sigdescr_np(signal) + ")";
  }
  if (const auto owner = block.stacks().guard_owner(info.si_addr)) {
    return "stack overflow of " + block.thread_name(*owner);
  }
  return std::string(access_of(context)) + " " + device_memory->describe(info.si_addr);
}

void on_fault(int signal, siginfo_t* info, void* raw_context) {
  const auto& context = *static_cast<const ucontext_t*>(raw_context);
  const Block* const block = current_block();
  if (block != nullptr && block->in_thread()) {
    write_error("mgtune cpu device: " + block->where() + ": " +
                describe(*block, signal, *info, context));
    // A line of its own effort: should looking it up fail, the above has been said.
    const auto next = reinterpret_cast<const void*>(instruction_of(context) + 1);
    if (instruction_of(context) != 0) write_error(" at " + source_line(next));
    write_error("\n");
  }
  for (std::size_t i = 0; i < kFaultSignals.size(); ++i) {
    if (kFaultSignals[i] == signal) sigaction(signal, &previous_actions[i], nullptr);
  }
  // Returning repeats the instruction, now with the action that was there before us.
}

#if defined(__x86_64__)
[[noreturn]] void abandon_thread(const void* address) { current_block()->fail_expired(address); }

// Kernel code holds no lock and owns nothing, so it can be left anywhere; our own code is let
// finish, and finds the block expired when a thread next pauses.
void on_interrupt(int, siginfo_t*, void* raw_context) {
  auto& registers = static_cast<ucontext_t*>(raw_context)->uc_mcontext.gregs;
  const Block* const block = current_block();
  const auto instruction = static_cast<std::uintptr_t>(registers[REG_RIP]);
  if (block == nullptr || !block->expired() || !block->in_kernel_code(instruction)) return;
  constexpr greg_t kRedZone = 128;
  registers[REG_RDI] = static_cast<greg_t>(instruction + 1);
  registers[REG_RIP] = reinterpret_cast<greg_t>(&abandon_thread);
  registers[REG_RSP] = ((registers[REG_RSP] - kRedZone) & ~greg_t{15}) - 8;  // as after a call
}
#else
void on_interrupt(int, siginfo_t*, void*) {}
#endif

#if defined(__SANITIZE_ADDRESS__)
void on_sanitizer_error() {
  const Block* const block = current_block();
  if (block != nullptr && block->in_thread()) {
    write_error("mgtune cpu device: " + block->where() + ": the above\n");
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

WorkerSignals::WorkerSignals(Block& block) : stack_(new char[kSignalStackBytes]) {
  current_block() = &block;
  stack_t stack{};
  stack.ss_sp = stack_.get();
  stack.ss_size = kSignalStackBytes;
  sigaltstack(&stack, nullptr);
}

WorkerSignals::~WorkerSignals() {
  stack_t stack{};
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
  current_block() = nullptr;
}

}  // namespace mgtune

#include "fiber.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace mgtune {
namespace {

constexpr std::size_t kStackBytes = 64 << 10;
constexpr std::size_t kMaxStacks = 1024;

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

void leave_sanitizer_stack([[maybe_unused]] FiberContext& from,
                           [[maybe_unused]] const FiberContext& to,
                           [[maybe_unused]] bool from_ends) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(from_ends ? nullptr : &from.sanitizer_frames, to.stack_bottom,
                                 to.stack_bytes);
#endif
}

void enter_sanitizer_stack([[maybe_unused]] const FiberContext& entered) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(entered.sanitizer_frames, nullptr, nullptr);
#endif
}

// If a thread never returns from some frames, their redzones stay on its stack: always its last
// frame, and all frames if a fault abandoned it. AddressSanitizer before GCC 13 does not notice
// munmap, and would report whoever gets these addresses next.
void forget_frames([[maybe_unused]] const std::byte* stack_bottom) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stack_bottom, kStackBytes);
#endif
}

// The first switch to a new fiber "returns" here. It reports the arrival, then runs the entry.
thread_local void (*fiber_entry)() = nullptr;

[[noreturn]] void start_fiber() {
  enter_sanitizer_stack(FiberContext());
  fiber_entry();
  __builtin_unreachable();
}

}  // namespace

#if defined(__x86_64__)

// Saves the callee-saved registers on the old stack and loads them from the new one. `pop; jmp` is
// used instead of `ret`: the return predictor never predicts a fiber's return correctly, and a
// wrong prediction costs 4 ns.
asm(R"(
.text
.p2align 4
.globl mgtune_switch_stack
.hidden mgtune_switch_stack
.type mgtune_switch_stack, @function
mgtune_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmp *%rcx
.size mgtune_switch_stack, . - mgtune_switch_stack
)");
extern "C" void mgtune_switch_stack(void** save_stack_pointer, void* load_stack_pointer);

#endif

void switch_fiber(FiberContext& from, FiberContext& to, bool from_ends) {
  leave_sanitizer_stack(from, to, from_ends);
#if defined(__x86_64__)
  mgtune_switch_stack(&from.stack_pointer, to.stack_pointer);
#else
  swapcontext(&from.registers, &to.registers);
#endif
  enter_sanitizer_stack(from);
}

FiberContext context_of_this_thread() {
  FiberContext context;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &context.stack_bottom, &context.stack_bytes);
    pthread_attr_destroy(&attributes);
  }
  return context;
}

FiberStacks::~FiberStacks() {
  for (const Stack& stack : stacks_) {
    forget_frames(stack.bottom);
    munmap(stack.guard, page_bytes() + kStackBytes);
  }
}

Status FiberStacks::reserve(std::size_t count) {
  stacks_.reserve(kMaxStacks);  // never moves: a signal handler may be looking
  while (stacks_.size() < count) {
    const std::size_t bytes = page_bytes() + kStackBytes;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, page_bytes(), PROT_NONE) != 0) {
      const int error = errno;
      if (memory != MAP_FAILED) munmap(memory, bytes);
      return Status(StatusCode::launch_failed,
                    "no stack for thread " + std::to_string(stacks_.size()) + " of a block: " +
                        std::strerror(error) + " (each takes two mappings: vm.max_map_count)");
    }
    auto* guard = static_cast<std::byte*>(memory);
    stacks_.push_back({guard, guard + page_bytes()});
  }
  return Status();
}

void FiberStacks::prepare(std::size_t index, void (*entry)(), FiberContext& context) {
  std::byte* const bottom = stacks_[index].bottom;
  forget_frames(bottom);
  context.stack_bottom = bottom;
  context.stack_bytes = kStackBytes;
  context.sanitizer_frames = nullptr;
  fiber_entry = entry;
#if defined(__x86_64__)
  // If all stacks had equal offsets, they would use the same cache sets: 20 % slower on some
  // kernels.
  const std::size_t stagger = index * 192 % 4096;
  auto* top = reinterpret_cast<std::uintptr_t*>(bottom + kStackBytes - stagger);
  *--top = 0;  // where unwinding ends; the stack is then aligned as after a call
  *--top = reinterpret_cast<std::uintptr_t>(&start_fiber);
  for (int saved_register = 0; saved_register < 6; ++saved_register) *--top = 0;
  context.stack_pointer = top;
#else
  getcontext(&context.registers);
  context.registers.uc_stack.ss_sp = bottom;
  context.registers.uc_stack.ss_size = kStackBytes;
  makecontext(&context.registers, start_fiber, 0);
#endif
}

std::optional<std::size_t> FiberStacks::guard_owner(const void* address) const {
  for (std::size_t i = 0; i < stacks_.size(); ++i) {
    if (address >= stacks_[i].guard && address < stacks_[i].bottom) return i;
  }
  return std::nullopt;
}

}  // namespace mgtune

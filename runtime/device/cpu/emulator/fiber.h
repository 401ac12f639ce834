// Fibers: the stacks on which the threads of a block run, and the switch between them.
//
// On x86-64 the switch is our own assembly (4 to 10 ns; ucontext makes a system call and takes 200
// ns), elsewhere ucontext. Both inform AddressSanitizer. A stack has 64 KiB (kernels use 6 to 12)
// and an inaccessible page below it, so an overflow faults instead of damaging another stack. A
// fiber stays on one OS thread from start to end.

#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/status.h"

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace mgtune {

struct FiberContext {
#if defined(__x86_64__)
  void* stack_pointer = nullptr;
#else
  ucontext_t registers{};
#endif
  void* stack_bottom = nullptr;
  std::size_t stack_bytes = 0;
  void* sanitizer_frames = nullptr;
};

// The context of the calling OS thread, to return to.
FiberContext context_of_this_thread();

// Leaves `from` (for good if `from_ends`) and continues where `to` was left.
void switch_fiber(FiberContext& from, FiberContext& to, bool from_ends);

// The stacks of one worker. Not thread-safe, except guard_owner(), which a signal handler may call.
class FiberStacks {
 public:
  FiberStacks() = default;
  ~FiberStacks();
  FiberStacks(const FiberStacks&) = delete;
  FiberStacks& operator=(const FiberStacks&) = delete;

  // Makes stacks 0 to count - 1. launch_failed if the system refuses the memory or the guard pages.
  Status reserve(std::size_t count);

  // A context that starts `entry` on stack `index`; `entry` must not return.
  void prepare(std::size_t index, void (*entry)(), FiberContext& context);

  // The stack that overflows at `address`.
  std::optional<std::size_t> guard_owner(const void* address) const;

 private:
  struct Stack {
    std::byte* guard;
    std::byte* bottom;
  };
  std::vector<Stack> stacks_;
};

}  // namespace mgtune

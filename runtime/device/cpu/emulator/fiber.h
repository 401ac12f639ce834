// Fibers: the stacks on which the threads of a block run, and the switch between them.
//
// The switch is our own assembly on x86-64 (4 to 10 ns; ucontext makes a system call and needs 200)
// and ucontext elsewhere. Both tell AddressSanitizer what happens. A stack has 64 KiB (kernels use
// 6 to 12) and an inaccessible page below it, so an overflow faults instead of corrupting a
// neighbour. A fiber belongs to one OS thread from start to end.

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

// The calling OS thread's own context, to come back to.
FiberContext context_of_this_thread();

// Leaves `from` (for good when `from_ends`) and goes on where `to` was left.
void switch_fiber(FiberContext& from, FiberContext& to, bool from_ends);

// The stacks of one worker. Not thread-safe, except guard_owner(), which a signal handler may call.
class FiberStacks {
 public:
  FiberStacks() = default;
  ~FiberStacks();
  FiberStacks(const FiberStacks&) = delete;
  FiberStacks& operator=(const FiberStacks&) = delete;

  // Makes stacks 0 to count - 1. launch_failed when the system refuses the memory or the guards.
  Status reserve(std::size_t count);

  // A context that starts `entry` on stack `index`; `entry` must not return.
  void prepare(std::size_t index, void (*entry)(), FiberContext& context);

  // Whose stack overflows at `address`.
  std::optional<std::size_t> guard_owner(const void* address) const;

 private:
  struct Stack {
    std::byte* guard;
    std::byte* bottom;
  };
  std::vector<Stack> stacks_;
};

}  // namespace mgtune

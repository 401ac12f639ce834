// Block: runs one block of a kernel on the calling OS thread. The threads of the block are fibers
// that take turns.
//
// A thread runs until it waits (barrier, warp collective, spin) or returns. Then the next thread of
// the ready queue runs, by a direct switch from fiber to fiber. Threads that a barrier or
// collective releases enter the queue in the thread order of the launch. If the queue is empty and
// threads are left, the block is stuck: each thread is listed with the place where it waits. A
// fault abandons the block at once.
//
// There is one per worker, and only the worker's thread uses it. Functions for signal handlers and
// watchdogs are marked as such.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "access_checker.h"
#include "core/status.h"
#include "device/device.h"
#include "fault.h"
#include "fiber.h"
#include "mgcpu/runtime_abi.h"
#include "race_checker.h"
#include "shared_memory.h"
#include "signal_text.h"

namespace mgtune {

inline constexpr std::uint32_t kMaxThreads = 1024;
inline constexpr std::uint32_t kWarpThreads = 32;

struct CodeRange {
  std::uintptr_t begin = 0, end = 0;
};

// The data that all blocks of a launch share.
struct BlockTask {
  const mgcpu::KernelEntry* entry = nullptr;
  void* const* args = nullptr;
  Dim3 grid, block;
  std::size_t dynamic_bytes = 0;
  const SharedLayout* layout = nullptr;
  CodeRange code;                          // of the library with the kernel
  bool check_accesses = false;             // the kernel was built for "cpu-race"
  std::span<const WatchedBuffer> buffers;  // with check_accesses: all of the device
  bool refuse_unwritten_reads = false;
  ThreadOrder order;
  double deadline_s = 0;  // for messages
};

class Block {
 public:
  Block();

  // launch_failed, with the block and what went wrong in it.
  Status run(const BlockTask& task, std::uint64_t block_index);

  // Called from kernel code, through mgcpu/runtime_abi.h.
  std::uint32_t sync_block(bool predicate, const Place& place);
  void sync_named(std::uint32_t barrier, std::uint32_t threads, const Place& place);
  void warp_call(mgcpu::WarpCall& call);
  void spin_pause(const Place& place);
  [[noreturn]] void fail(Fault fault);
  void check_access(const void* address, std::size_t bytes, RaceChecker::Kind kind,
                    const void* return_address);

  // Called by the watchdog: the block fails when a thread pauses next.
  void expire() { expired_.store(true, std::memory_order_relaxed); }
  bool expired() const { return expired_.load(std::memory_order_relaxed); }
  void clear_expired() { expired_.store(false, std::memory_order_relaxed); }
  // Called on a fiber that a signal of the watchdog interrupted at `address`.
  [[noreturn]] void fail_expired(const void* address);

  // About the running fiber, for signal handlers. False outside kernel code.
  bool in_thread() const { return current_ >= 0; }
  bool in_kernel_code(std::uintptr_t instruction) const {
    return in_thread() && instruction >= task_->code.begin && instruction < task_->code.end;
  }
  void add_place(SignalText& text) const;  // "block (0,0,0), thread (5,0,0)"
  void add_thread(std::size_t thread, SignalText& text) const;
  const FiberStacks& stacks() const { return stacks_; }

 private:
  enum class State : std::uint8_t { ready, at_barrier, in_warp_call, spinning, returned };
  struct Thread {
    FiberContext context;
    Dim3 index;
    State state = State::ready;
    std::uint32_t barrier = 0;
    Place place;
    mgcpu::WarpCall* call = nullptr;
  };
  struct Barrier {
    std::uint32_t arrived = 0, expected = 0;
    std::uint32_t true_predicates = 0, result = 0;
    std::uint32_t first_thread = 0;
  };
  struct Meeting {  // the lanes of one mask, in one collective
    std::uint32_t mask = 0, arrived = 0;
    std::uint32_t first_thread = 0;
  };
  struct Warp {
    std::uint32_t alive = 0;
    std::uint32_t meeting_count = 0;
    std::array<Meeting, kWarpThreads> meetings;
  };

  static void thread_main();
  Status start(const BlockTask& task, std::uint64_t block_index);
  void prepare_threads();
  void thread_returned();
  void wait(State state, const Place& place);
  void switch_away(bool for_good);
  void make_ready(std::uint32_t thread);
  std::uint32_t next_ready();  // taken out of the queue, which is not empty
  void arrive(std::uint32_t barrier, std::uint32_t expected, const Place& place);
  void release(std::uint32_t barrier);
  Meeting& join_meeting(Warp& warp, const mgcpu::WarpCall& call);
  void complete(std::uint32_t warp_index, std::uint32_t meeting_index);
  void combine(std::uint32_t first_thread, std::uint32_t participants);
  void shuffle(std::uint32_t first_thread, std::uint32_t participants);
  void order_threads();
  std::uint64_t next_random();
  Status stuck() const;
  std::string waiting_threads() const;

  const BlockTask* task_ = nullptr;
  Dim3 block_index_;
  std::uint32_t thread_count_ = 0, alive_ = 0;
  int current_ = -1;
  std::uint64_t random_ = 0;

  std::vector<Thread> threads_;
  std::array<Warp, kMaxThreads / kWarpThreads> warps_;
  std::array<Barrier, 16> barriers_;
  std::array<std::uint16_t, kMaxThreads> order_{};  // the order in which a barrier releases
  std::array<std::uint16_t, kMaxThreads> ready_{};  // a ring
  std::uint32_t ready_first_ = 0, ready_count_ = 0;

  FiberStacks stacks_;
  FiberContext scheduler_;
  SharedMemory shared_;
  AccessChecker access_checker_;
  RaceChecker race_checker_;
  Fault fault_;
  std::atomic<bool> expired_{false};
};

// The block whose kernels the calling OS thread runs. Null on other threads.
Block*& current_block();

}  // namespace mgtune

#include "block.h"

#include <algorithm>
#include <optional>
#include <utility>

// The built-in variables of kernel code, as mgcpu/execution.h declares them; written on each
// switch.
extern "C" {
MGCPU_API MGCPU_THREAD_LOCAL mgtune::Dim3 threadIdx = {0, 0, 0};
MGCPU_API MGCPU_THREAD_LOCAL mgtune::Dim3 blockIdx = {0, 0, 0};
MGCPU_API MGCPU_THREAD_LOCAL mgtune::Dim3 blockDim = {1, 1, 1};
MGCPU_API MGCPU_THREAD_LOCAL mgtune::Dim3 gridDim = {1, 1, 1};
MGCPU_API MGCPU_THREAD_LOCAL unsigned char* mgcpu_static_shared = nullptr;
MGCPU_API MGCPU_THREAD_LOCAL unsigned char* mgcpu_dynamic_shared = nullptr;
}

namespace mgtune {
namespace {

MGCPU_THREAD_LOCAL Block* block_of_this_thread = nullptr;

}  // namespace

Block*& current_block() { return block_of_this_thread; }

Block::Block() : threads_(kMaxThreads) {}

Status Block::run(const BlockTask& task, std::uint64_t block_index) {
  MGTUNE_TRY(start(task, block_index).with_context("block " + to_string(block_index_)));
  const std::uint32_t first = next_ready();
  current_ = static_cast<int>(first);
  threadIdx = threads_[first].index;
  switch_fiber(scheduler_, threads_[first].context, false);
  // Back here when nothing is ready, or a thread has failed.
  current_ = -1;
  if (fault_.kind == Fault::Kind::none && alive_ == 0) return Status();
  return stuck();
}

Status Block::start(const BlockTask& task, std::uint64_t block_index) {
  task_ = &task;
  block_index_ = index_in(block_index, task.grid);
  thread_count_ = static_cast<std::uint32_t>(count(task.block));
  alive_ = thread_count_;
  fault_ = Fault();
  random_ = task.order.seed ^ (block_index * 0x9e3779b97f4a7c15ULL);
  MGTUNE_TRY(stacks_.reserve(thread_count_));
  MGTUNE_TRY(shared_.reset(*task.layout, task.dynamic_bytes));
  if (task.check_accesses) {
    race_checker_.start_block(shared_.arena(), shared_.dynamic());
    access_checker_.start_block(task.buffers, *task.layout, shared_, task.refuse_unwritten_reads);
  }
  mgcpu_static_shared = shared_.arena().data();
  mgcpu_dynamic_shared = shared_.dynamic().data();
  blockIdx = block_index_;
  blockDim = task.block;
  gridDim = task.grid;
  scheduler_ = context_of_this_thread();
  prepare_threads();
  return Status();
}

void Block::prepare_threads() {
  barriers_.fill(Barrier());
  for (std::uint32_t first = 0; first < thread_count_; first += kWarpThreads) {
    const std::uint32_t lanes = std::min(kWarpThreads, thread_count_ - first);
    Warp& warp = warps_[first / kWarpThreads];
    warp.alive = lanes == kWarpThreads ? 0xffffffffU : (1U << lanes) - 1;
    warp.meeting_count = 0;
  }
  for (std::uint32_t i = 0; i < thread_count_; ++i) {
    order_[i] = static_cast<std::uint16_t>(
        task_->order.kind == ThreadOrder::Kind::reversed ? thread_count_ - 1 - i : i);
    threads_[i].index = index_in(i, task_->block);
    stacks_.prepare(i, &Block::thread_main, threads_[i].context);
  }
  order_threads();
  ready_first_ = ready_count_ = 0;
  for (std::uint32_t i = 0; i < thread_count_; ++i) make_ready(order_[i]);
}

void Block::thread_main() {
  Block& block = *current_block();
  block.task_->entry->run(block.task_->args);
  block.thread_returned();
}

// The barrier of the block and the collectives of the warp do not wait for a thread that returned.
void Block::thread_returned() {
  const auto thread = static_cast<std::uint32_t>(current_);
  threads_[thread].state = State::returned;
  --alive_;
  if (alive_ > 0 && barriers_[0].arrived == alive_) release(0);
  Warp& warp = warps_[thread / kWarpThreads];
  warp.alive &= ~(1U << thread % kWarpThreads);
  for (std::uint32_t i = warp.meeting_count; i-- > 0;) {
    const Meeting& meeting = warp.meetings[i];
    if ((meeting.mask & warp.alive & ~meeting.arrived) == 0) complete(thread / kWarpThreads, i);
  }
  switch_away(true);
}

void Block::make_ready(std::uint32_t thread) {
  threads_[thread].state = State::ready;
  ready_[(ready_first_ + ready_count_) % kMaxThreads] = static_cast<std::uint16_t>(thread);
  ++ready_count_;
}

std::uint32_t Block::next_ready() {
  const std::uint32_t thread = ready_[ready_first_];
  ready_first_ = (ready_first_ + 1) % kMaxThreads;
  --ready_count_;
  return thread;
}

void Block::wait(State state, const Place& place) {
  Thread& thread = threads_[static_cast<std::size_t>(current_)];
  thread.state = state;
  thread.place = place;
}

void Block::switch_away(bool for_good) {
  Thread& from = threads_[static_cast<std::size_t>(current_)];
  if (ready_count_ == 0) {
    current_ = -1;
    switch_fiber(from.context, scheduler_, for_good);
    return;
  }
  const std::uint32_t next = next_ready();
  Thread& to = threads_[next];
  if (&to == &from) return;
  current_ = static_cast<int>(next);
  threadIdx = to.index;
  switch_fiber(from.context, to.context, for_good);
}

void Block::fail(Fault fault) {
  fault.thread = static_cast<std::uint32_t>(current_);
  fault_ = fault;
  Thread& from = threads_[static_cast<std::size_t>(current_)];
  current_ = -1;
  switch_fiber(from.context, scheduler_, true);
  __builtin_unreachable();
}

void Block::arrive(std::uint32_t index, std::uint32_t expected, const Place& place) {
  Barrier& barrier = barriers_[index];
  const auto thread = static_cast<std::uint32_t>(current_);
  if (barrier.arrived == 0) {
    barrier.first_thread = thread;
    barrier.expected = expected;
  } else if (index == 0 && !threads_[barrier.first_thread].place.same_line(place)) {
    fail({.kind = Fault::Kind::different_barriers,
          .place = place,
          .other_thread = barrier.first_thread,
          .other_place = threads_[barrier.first_thread].place});
  }
  ++barrier.arrived;
  threads_[thread].barrier = index;
  wait(State::at_barrier, place);
}

std::uint32_t Block::sync_block(bool predicate, const Place& place) {
  arrive(0, 0, place);
  barriers_[0].true_predicates += predicate ? 1U : 0U;
  if (barriers_[0].arrived == alive_) release(0);
  switch_away(false);
  return barriers_[0].result;
}

void Block::sync_named(std::uint32_t index, std::uint32_t threads, const Place& place) {
  const bool agreed = index < barriers_.size() &&
                      (barriers_[index].arrived == 0 || barriers_[index].expected == threads);
  if (index == 0 || !agreed || threads == 0 || threads % kWarpThreads != 0) {
    fail({.kind = Fault::Kind::bad_barrier, .place = place, .number = index});
  }
  arrive(index, threads, place);
  if (barriers_[index].arrived == threads) release(index);
  switch_away(false);
}

void Block::release(std::uint32_t index) {
  Barrier& barrier = barriers_[index];
  barrier.result = barrier.true_predicates;
  barrier.true_predicates = barrier.arrived = 0;
  race_checker_.block_barrier();
  order_threads();
  for (std::uint32_t i = 0; i < thread_count_; ++i) {
    const Thread& thread = threads_[order_[i]];
    if (thread.state == State::at_barrier && thread.barrier == index) make_ready(order_[i]);
  }
}

// A new order for each barrier, the same in every run of the block.
void Block::order_threads() {
  if (task_->order.kind != ThreadOrder::Kind::shuffled) return;
  for (std::uint32_t left = thread_count_; left > 1; --left) {
    std::swap(order_[left - 1], order_[next_random() % left]);
  }
}

std::uint64_t Block::next_random() {  // SplitMix64
  std::uint64_t bits = random_ += 0x9e3779b97f4a7c15ULL;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
  return bits ^ (bits >> 31);
}

void Block::spin_pause(const Place& place) {
  if (expired()) fail({.kind = Fault::Kind::deadline, .place = place});
  const auto thread = static_cast<std::uint32_t>(current_);
  make_ready(thread);
  wait(State::spinning, place);
  switch_away(false);
}

void Block::fail_expired(const void* address) {
  fail({.kind = Fault::Kind::deadline, .interrupted_address = address});
}

void Block::check_access(const void* address, std::size_t bytes, RaceChecker::Kind kind,
                         const void* return_address) {
  const bool writes = kind == RaceChecker::Kind::write || kind == RaceChecker::Kind::atomic_write;
  const std::optional<BadAccess> bad =
      access_checker_.access(address, bytes, writes, return_address);
  if (bad) fail({.kind = Fault::Kind::bad_access, .access = *bad});
  const std::optional<Race> race = race_checker_.access(
      address, bytes, kind, static_cast<std::uint32_t>(current_), return_address);
  if (race) fail({.kind = Fault::Kind::race, .race = *race});
}

void Block::add_thread(std::size_t thread, SignalText& text) const {
  const Dim3 index = index_in(thread, task_->block);
  text.add("thread ({},{},{})", index.x, index.y, index.z);
}

void Block::add_place(SignalText& text) const {
  text.add("block ({},{},{})", block_index_.x, block_index_.y, block_index_.z);
  if (!in_thread()) return;
  text.add(", ");
  add_thread(static_cast<std::size_t>(current_), text);
}

}  // namespace mgtune

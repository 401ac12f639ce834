// Collectives of a warp. Each lane leaves its WarpCall and waits. The last lane of the mask that
// has not returned computes the result for all. The mask distinguishes meetings, so the halves of a
// warp can meet independently.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "block.h"

namespace mgtune {
namespace {

using mgcpu::WarpCall;
using mgcpu::WarpOperation;

Place place_of(const WarpCall& call) { return {call.name, call.file, call.line, call.mask}; }

bool is_shuffle(WarpOperation operation) {
  return operation >= WarpOperation::shuffle_index && operation <= WarpOperation::shuffle_xor;
}

// The lane that `lane` reads, as PTX's shfl.sync defines it. It is `lane` itself if it would leave
// its segment.
std::uint32_t source_lane(const WarpCall& call, std::uint32_t lane) {
  const std::uint32_t segment = lane & ~(call.width - 1);
  const std::uint32_t last = segment + call.width - 1;
  switch (call.operation) {
    case WarpOperation::shuffle_index:
      return segment + (call.operand & (call.width - 1));
    case WarpOperation::shuffle_up:
      return call.operand > lane - segment ? lane : lane - call.operand;
    case WarpOperation::shuffle_down:
      return call.operand > last - lane ? lane : lane + call.operand;
    default: {
      const std::uint32_t source = lane ^ (call.operand & (kWarpThreads - 1));
      return source > last ? lane : source;
    }
  }
}

std::uint32_t reduce(WarpOperation operation, std::uint32_t a, std::uint32_t b) {
  const auto signed_a = static_cast<std::int32_t>(a), signed_b = static_cast<std::int32_t>(b);
  switch (operation) {
    case WarpOperation::min_signed:
      return signed_b < signed_a ? b : a;
    case WarpOperation::max_signed:
      return signed_b > signed_a ? b : a;
    case WarpOperation::min_unsigned:
      return std::min(a, b);
    case WarpOperation::max_unsigned:
      return std::max(a, b);
    case WarpOperation::bit_and:
      return a & b;
    case WarpOperation::bit_or:
      return a | b;
    case WarpOperation::bit_xor:
      return a ^ b;
    default:
      return a + b;
  }
}

}  // namespace

void Block::warp_call(WarpCall& call) {
  const auto thread = static_cast<std::uint32_t>(current_);
  const std::uint32_t lane = thread % kWarpThreads;
  const Place place = place_of(call);
  if ((call.mask >> lane & 1U) == 0) {
    fail({.kind = Fault::Kind::mask_without_self, .place = place, .number = lane});
  }
  if (is_shuffle(call.operation) &&
      (call.width > kWarpThreads || !std::has_single_bit(call.width))) {
    fail({.kind = Fault::Kind::bad_width, .place = place, .number = call.width});
  }
  Warp& warp = warps_[thread / kWarpThreads];
  Meeting& meeting = join_meeting(warp, call);
  meeting.arrived |= 1U << lane;
  threads_[thread].call = &call;
  wait(State::in_warp_call, place);
  if ((meeting.mask & warp.alive & ~meeting.arrived) == 0) {
    complete(thread / kWarpThreads, static_cast<std::uint32_t>(&meeting - warp.meetings.data()));
  }
  switch_away(false);
}

Block::Meeting& Block::join_meeting(Warp& warp, const WarpCall& call) {
  for (std::uint32_t i = 0; i < warp.meeting_count; ++i) {
    Meeting& meeting = warp.meetings[i];
    if (meeting.mask != call.mask) continue;
    const Thread& first = threads_[meeting.first_thread];
    if (first.call->operation == call.operation && first.place.same_line(place_of(call))) {
      return meeting;
    }
    fail({.kind = Fault::Kind::different_collectives,
          .place = place_of(call),
          .other_thread = meeting.first_thread,
          .other_place = first.place});
  }
  Meeting& meeting = warp.meetings[warp.meeting_count++];
  meeting = {call.mask, 0, static_cast<std::uint32_t>(current_)};
  return meeting;
}

void Block::complete(std::uint32_t warp_index, std::uint32_t meeting_index) {
  Warp& warp = warps_[warp_index];
  const std::uint32_t participants = warp.meetings[meeting_index].arrived;
  warp.meetings[meeting_index] = warp.meetings[--warp.meeting_count];

  const std::uint32_t first_thread = warp_index * kWarpThreads;
  combine(first_thread, participants);

  // An odd factor and an offset permute the lanes: forward, reversed, or at random.
  std::uint32_t factor = 1, offset = 0;
  if (task_->order.kind == ThreadOrder::Kind::reversed) {
    factor = offset = kWarpThreads - 1;
  } else if (task_->order.kind == ThreadOrder::Kind::shuffled) {
    const std::uint64_t random = next_random();
    factor = static_cast<std::uint32_t>(random) | 1U;
    offset = static_cast<std::uint32_t>(random >> 32);
  }
  for (std::uint32_t i = 0; i < kWarpThreads; ++i) {
    const std::uint32_t lane = (i * factor + offset) % kWarpThreads;
    if ((participants >> lane & 1U) != 0) make_ready(first_thread + lane);
  }
}

void Block::combine(std::uint32_t first_thread, std::uint32_t participants) {
  const auto first_lane = static_cast<std::uint32_t>(std::countr_zero(participants));
  const WarpOperation operation = threads_[first_thread + first_lane].call->operation;
  if (is_shuffle(operation)) return shuffle(first_thread, participants);
  if (operation == WarpOperation::synchronize) {
    race_checker_.warp_barrier(first_thread / kWarpThreads);
    return;
  }
  std::uint32_t result = 0;
  for (std::uint32_t lane = first_lane; lane < kWarpThreads; ++lane) {
    if ((participants >> lane & 1U) == 0) continue;
    const std::uint32_t operand = threads_[first_thread + lane].call->operand;
    if (operation == WarpOperation::ballot) {
      result |= operand << lane;
    } else {
      result = lane == first_lane ? operand : reduce(operation, result, operand);
    }
  }
  for (std::uint32_t lane = first_lane; lane < kWarpThreads; ++lane) {
    if ((participants >> lane & 1U) != 0) threads_[first_thread + lane].call->result = result;
  }
}

void Block::shuffle(std::uint32_t first_thread, std::uint32_t participants) {
  std::array<std::uint64_t, kWarpThreads> values;
  values.fill(~std::uint64_t{0});  // what a lane outside the mask gives: bytes 0xff, a NaN
  for (std::uint32_t lane = 0; lane < kWarpThreads; ++lane) {
    if ((participants >> lane & 1U) == 0) continue;
    const WarpCall& call = *threads_[first_thread + lane].call;
    std::memcpy(&values[lane], call.value, call.bytes);
  }
  for (std::uint32_t lane = 0; lane < kWarpThreads; ++lane) {
    if ((participants >> lane & 1U) == 0) continue;
    const WarpCall& call = *threads_[first_thread + lane].call;
    const std::uint32_t source = source_lane(call, lane);
    if ((participants >> source & 1U) == 0 && (call.mask >> source & 1U) != 0) {
      current_ = static_cast<int>(first_thread + lane);
      fail({.kind = Fault::Kind::gone_source, .place = place_of(call), .number = source});
    }
    std::memcpy(call.value, &values[source], call.bytes);
  }
}

}  // namespace mgtune

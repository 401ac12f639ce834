#include "schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "program/operation.h"
#include "schedule/dependencies.h"
#include "schedule/memory_plan.h"
#include "schedule/waits.h"

namespace mgtune::engine {
namespace {

using Dependencies = std::vector<std::vector<std::uint32_t>>;

// The fixed cost of an instruction, as a number of bytes that could be moved in the same time: two
// microseconds at four terabytes a second.
constexpr std::uint64_t kStartBytes = 8'000'000;

std::uint64_t cost_of(const Instruction& instruction) { return instruction.bytes + kStartBytes; }

// The cost from the start of each instruction to the end of the step, along the longest path.
std::vector<std::uint64_t> path_costs(const Program& program, const Dependencies& needed) {
  std::vector<std::uint64_t> costs(program.instructions.size());
  for (std::size_t i = costs.size(); i-- > 0;) {
    costs[i] += cost_of(program.instructions[i]);
    for (const std::uint32_t before : needed[i]) costs[before] = std::max(costs[before], costs[i]);
  }
  return costs;
}

// List scheduling. Sets the queues and returns the new order of the instructions.
std::vector<std::uint32_t> assign_queues(Program& program, const Dependencies& needed) {
  const std::vector<std::uint64_t> costs = path_costs(program, needed);
  const std::size_t count = program.instructions.size();
  std::vector<std::size_t> missing(count);
  std::vector<std::vector<std::uint32_t>> followers(count);
  std::vector<std::uint64_t> earliest(count);
  std::vector<std::uint32_t> ready;
  for (std::uint32_t i = 0; i < count; ++i) {
    missing[i] = needed[i].size();
    if (needed[i].empty()) ready.push_back(i);
    for (const std::uint32_t before : needed[i]) followers[before].push_back(i);
  }
  std::vector<std::uint64_t> free_at(program.queues);
  std::vector<std::uint32_t> order;
  while (!ready.empty()) {
    const auto best = std::ranges::max_element(ready, {}, [&](std::uint32_t i) {
      return std::pair(costs[i], ~i);  // the first one if several are equal
    });
    const std::uint32_t i = *best;
    ready.erase(best);
    const auto queue = std::ranges::min_element(
        free_at, {}, [&](std::uint64_t time) { return std::max(time, earliest[i]); });
    program.instructions[i].queue = static_cast<std::uint32_t>(queue - free_at.begin());
    *queue = std::max(*queue, earliest[i]) + cost_of(program.instructions[i]);
    order.push_back(i);
    for (const std::uint32_t follower : followers[i]) {
      earliest[follower] = std::max(earliest[follower], *queue);
      if (--missing[follower] == 0) ready.push_back(follower);
    }
  }
  return order;
}

void reorder(Program& program, const std::vector<std::uint32_t>& order) {
  std::vector<Instruction> ordered;
  ordered.reserve(order.size());
  for (const std::uint32_t i : order) ordered.push_back(program.instructions[i]);
  program.instructions = std::move(ordered);
}

}  // namespace

Result<Program> schedule(Program program, std::uint32_t queues) {
  if (queues < 1 || queues > 1024) {
    return invalid_argument(fmt::format("{} queues: a program has 1 to 1024", queues));
  }
  for (const Instruction& instruction : program.instructions) {
    if (instruction.opcode == Opcode::barrier || instruction.signal != kNone ||
        instruction.waits != Instruction().waits) {
      return invalid_argument(
          "the program has barriers, waits or signals: it was scheduled before");
    }
  }
  program.queues = queues;
  if (queues > 1) reorder(program, assign_queues(program, dependencies(program)));
  merge_residuals(program);
  place_scratch(program);
  if (queues > 1) add_waits(program);
  return program;
}

std::vector<std::uint32_t> position_buckets(std::uint32_t capacity) {
  std::vector<std::uint32_t> buckets;
  for (std::uint64_t bucket = 256; bucket < capacity; bucket *= 4) {
    buckets.push_back(static_cast<std::uint32_t>(bucket));
  }
  buckets.push_back(capacity);
  return buckets;
}

std::uint32_t attention_splits(std::uint32_t positions, std::uint32_t rows, std::uint32_t kv_heads,
                               std::uint32_t workers) {
  constexpr std::uint32_t kFewestKeys = 64;
  const std::uint32_t wanted = (workers + rows * kv_heads - 1) / (rows * kv_heads);
  const std::uint32_t possible = (positions + kFewestKeys - 1) / kFewestKeys;
  return std::clamp(std::min(wanted, possible), 1U, kMaxSplits);
}

}  // namespace mgtune::engine

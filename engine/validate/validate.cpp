#include "validate/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "program/access.h"
#include "program/operation.h"
#include "program/run_order.h"
#include "validate/check_instruction.h"
#include "validate/happens_before.h"

namespace mgtune::engine {
namespace {

constexpr std::uint32_t kMaxQueues = 1024;
constexpr std::uint32_t kMaxCounters = 1U << 20;
constexpr std::size_t kMaxInstructions = 1U << 14;  // the time of check_races() is quadratic
constexpr std::size_t kMaxBuffers = 1U << 14;

std::string place_of(const Program& program, std::uint32_t index) {
  return fmt::format("instruction {} ({})", index, to_string(program.instructions[index].opcode));
}

Status check_numbers(const Program& program) {
  if (program.rows < 1 || program.rows > kMaxRows) {
    return invalid_argument(fmt::format("rows must be from 1 to {}", kMaxRows));
  }
  if (program.positions < 1 || program.positions > program.capacity) {
    return invalid_argument("positions must be from 1 to the capacity");
  }
  // Positions and tokens are i32.
  constexpr std::uint32_t kMaxCount = 1U << 30;
  if (program.capacity > kMaxCount) return invalid_argument("the capacity is too large");
  if (program.vocabulary < 1 || program.vocabulary > kMaxCount) {
    return invalid_argument(fmt::format("vocabulary must be from 1 to {}", kMaxCount));
  }
  if (program.queues < 1 || program.queues > kMaxQueues) {
    return invalid_argument(fmt::format("queues must be from 1 to {}", kMaxQueues));
  }
  if (program.counters > kMaxCounters) {
    return invalid_argument(fmt::format("there can be at most {} counters", kMaxCounters));
  }
  if (program.instructions.size() > kMaxInstructions) {
    return invalid_argument(fmt::format("there can be at most {} instructions", kMaxInstructions));
  }
  if (program.buffers.size() > kMaxBuffers) {
    return invalid_argument(fmt::format("there can be at most {} buffers", kMaxBuffers));
  }
  return {};
}

std::string wait_mistake(const Program& program, const Instruction& instruction,
                         const std::vector<std::uint32_t>& signals) {
  if (instruction.queue >= program.queues) {
    return fmt::format("queue is {}, but there are only {}", instruction.queue, program.queues);
  }
  if (instruction.signal != kNone && instruction.signal >= program.counters) {
    return fmt::format("it signals counter {}, but there are only {}", instruction.signal,
                       program.counters);
  }
  std::vector<std::uint32_t> counters;
  bool is_ended = false;
  for (const Wait& wait : instruction.waits) {
    if (wait.counter == kNone) {
      if (wait.value != 0) return "a wait has a value, but no counter";
      is_ended = true;
      continue;
    }
    if (is_ended) return "there is a gap in its waits";
    if (wait.counter >= program.counters) {
      return fmt::format("it waits for counter {}, but there are only {}", wait.counter,
                         program.counters);
    }
    if (std::ranges::find(counters, wait.counter) != counters.end()) {
      return fmt::format("it waits for counter {} twice", wait.counter);
    }
    counters.push_back(wait.counter);
    if (wait.value < 1 || wait.value > signals[wait.counter]) {
      return fmt::format("it waits for counter {} to reach {}, but {} instructions signal it",
                         wait.counter, wait.value, signals[wait.counter]);
    }
  }
  return "";
}

Status check_instructions(const Program& program) {
  std::vector<std::uint32_t> signals(program.counters);
  for (const Instruction& instruction : program.instructions) {
    if (instruction.signal < program.counters) ++signals[instruction.signal];
  }
  for (std::uint32_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    const std::string mistake = wait_mistake(program, instruction, signals);
    if (!mistake.empty()) {
      return invalid_argument(fmt::format("{}: {}", place_of(program, i), mistake));
    }
    Status status = check_instruction(program, instruction);
    if (!status.ok()) return std::move(status).with_context(place_of(program, i));
  }
  return {};
}

// For each buffer the buffers that share memory with it, itself included. Weights are never
// written, so their lists are empty.
std::vector<std::vector<std::uint32_t>> sharing_buffers(const Program& program) {
  std::vector<std::vector<std::uint32_t>> sharing(program.buffers.size());
  std::vector<std::uint32_t> scratch;
  for (std::uint32_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i].kind == BufferKind::weight) continue;
    sharing[i].push_back(i);
    if (program.buffers[i].kind == BufferKind::scratch) scratch.push_back(i);
  }
  for (const std::uint32_t a : scratch) {
    for (const std::uint32_t b : scratch) {
      if (a != b && share_memory(program.buffers[a], program.buffers[b])) sharing[a].push_back(b);
    }
  }
  return sharing;
}

struct BufferUser {
  std::uint32_t instruction;
  bool writes;
};

Status check_races(const Program& program, const HappensBefore& before,
                   const std::vector<std::vector<std::uint32_t>>& sharing) {
  std::vector<std::vector<BufferUser>> users(program.buffers.size());
  for (std::uint32_t i = 0; i < program.instructions.size(); ++i) {
    for (const BufferAccess& access : buffer_accesses(program.instructions[i])) {
      for (const std::uint32_t buffer : sharing[access.buffer]) {
        for (const BufferUser& other : users[buffer]) {
          if (other.instruction == i || (!other.writes && !access.writes)) continue;
          if (before.are_ordered(other.instruction, i)) continue;
          return invalid_argument(
              fmt::format("{} and {} race: both use the memory of {}, and nothing orders them",
                          place_of(program, other.instruction), place_of(program, i),
                          program.buffers[buffer].name));
        }
      }
      if (!sharing[access.buffer].empty()) users[access.buffer].push_back({i, access.writes});
    }
  }
  return {};
}

// After check_races() all accesses that conflict are ordered, so checking one order is enough.
Status check_written(const Program& program, const std::vector<std::uint32_t>& order,
                     const std::vector<std::vector<std::uint32_t>>& sharing) {
  std::vector<bool> is_valid(program.buffers.size());
  const auto is_kept = [&](std::uint32_t buffer) {
    const BufferKind kind = program.buffers[buffer].kind;
    return kind == BufferKind::weight || kind == BufferKind::state;
  };
  for (const std::uint32_t i : order) {
    const std::vector<BufferAccess> accesses = buffer_accesses(program.instructions[i]);
    for (const BufferAccess& access : accesses) {
      if (!access.reads || is_kept(access.buffer) || is_valid[access.buffer]) continue;
      return invalid_argument(
          fmt::format("{}: it reads {}, which is not written before, or whose "
                      "memory another buffer has taken",
                      place_of(program, i), program.buffers[access.buffer].name));
    }
    for (const BufferAccess& access : accesses) {
      if (!access.writes) continue;
      for (const std::uint32_t buffer : sharing[access.buffer]) is_valid[buffer] = false;
      is_valid[access.buffer] = true;
    }
  }
  for (std::uint32_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i].kind == BufferKind::output && !is_valid[i]) {
      return invalid_argument(
          fmt::format("no instruction writes the output {}", program.buffers[i].name));
    }
  }
  return {};
}

// Only the last instruction that uses tokens, positions or lengths may set them for the next step.
// So all instructions of a step see the values from its start, which are within their bounds.
Status check_advances(const Program& program, const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> writer(program.buffers.size(), kNone);
  for (const std::uint32_t i : order) {
    for (const BufferAccess& access : buffer_accesses(program.instructions[i])) {
      const Buffer& buffer = program.buffers[access.buffer];
      if (buffer.kind != BufferKind::state || buffer.dtype != DType::i32) continue;
      if (writer[access.buffer] != kNone) {
        return invalid_argument(fmt::format(
            "{}: it uses {} after {} has set them for the next step", place_of(program, i),
            buffer.name, place_of(program, writer[access.buffer])));
      }
      if (access.writes) writer[access.buffer] = i;
    }
  }
  return {};
}

}  // namespace

Status validate(const Program& program) {
  MGTUNE_TRY(check_numbers(program));
  MGTUNE_TRY(check_buffers(program));
  MGTUNE_TRY(check_instructions(program));
  MGTUNE_ASSIGN(const std::vector<std::uint32_t> order, run_order(program));
  const std::vector<std::vector<std::uint32_t>> sharing = sharing_buffers(program);
  MGTUNE_TRY(check_races(program, HappensBefore(program, order), sharing));
  MGTUNE_TRY(check_written(program, order, sharing));
  return check_advances(program, order);
}

}  // namespace mgtune::engine

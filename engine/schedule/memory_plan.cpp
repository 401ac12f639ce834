#include "schedule/memory_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "program/access.h"

namespace mgtune::engine {
namespace {

struct Lifetime {
  std::uint32_t first = kNone;
  std::uint32_t last = 0;

  bool is_used() const { return first != kNone; }
  bool overlaps(const Lifetime& other) const { return first <= other.last && other.first <= last; }
};

std::vector<Lifetime> lifetimes(const Program& program) {
  std::vector<Lifetime> result(program.buffers.size());
  for (std::uint32_t i = 0; i < program.instructions.size(); ++i) {
    for (const BufferAccess& access : buffer_accesses(program.instructions[i])) {
      result[access.buffer].first = std::min(result[access.buffer].first, i);
      result[access.buffer].last = i;
    }
  }
  return result;
}

void replace_buffer(Program& program, std::uint32_t from, std::uint32_t to) {
  for (Instruction& instruction : program.instructions) {
    std::ranges::replace(instruction.operands, from, to);
  }
}

// Scratch buffers that no instruction uses any more.
void remove_unused_scratch(Program& program) {
  const std::vector<Lifetime> lives = lifetimes(program);
  std::vector<Buffer> kept;
  std::vector<std::uint32_t> new_index(program.buffers.size(), kNone);
  for (std::uint32_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i].kind == BufferKind::scratch && !lives[i].is_used()) continue;
    new_index[i] = static_cast<std::uint32_t>(kept.size());
    kept.push_back(std::move(program.buffers[i]));
  }
  program.buffers = std::move(kept);
  for (Instruction& instruction : program.instructions) {
    for (std::uint32_t& operand : instruction.operands) {
      if (operand != kNone) operand = new_index[operand];
    }
  }
}

}  // namespace

void merge_residuals(Program& program) {
  std::vector<Lifetime> lives = lifetimes(program);
  for (std::uint32_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    if (instruction.opcode != Opcode::linear || !instruction.has(Operand::residual)) continue;
    const std::uint32_t residual = instruction.at(Operand::residual);
    const std::uint32_t output = instruction.at(Operand::output);
    const Buffer& from = program.buffers[output];
    const Buffer& to = program.buffers[residual];
    const bool is_last_use = lives[residual].last == i && lives[output].first == i;
    const bool is_alike = from.dtype == to.dtype && from.elements == to.elements &&
                          from.kind == BufferKind::scratch && to.kind == BufferKind::scratch;
    // The instruction may read the residual's buffer as its input too, which it must not overwrite.
    const bool is_input = instruction.at(Operand::input) == residual;
    if (is_last_use && is_alike && !is_input && residual != output) {
      replace_buffer(program, output, residual);
      lives[residual].last = lives[output].last;
    }
  }
  remove_unused_scratch(program);
}

void place_scratch(Program& program) {
  const std::vector<Lifetime> lives = lifetimes(program);
  std::vector<std::uint32_t> largest_first;
  for (std::uint32_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i].kind == BufferKind::scratch) largest_first.push_back(i);
  }
  std::ranges::stable_sort(largest_first, std::greater<>(), [&](std::uint32_t buffer) {
    return *size_in_bytes(program.buffers[buffer]);
  });
  std::vector<std::uint32_t> placed;
  for (const std::uint32_t i : largest_first) {
    Buffer& buffer = program.buffers[i];
    // The candidates are the start of the arena and the ends of the buffers that are alive.
    std::vector<std::uint64_t> bases = {0};
    std::vector<std::uint32_t> alive;
    for (const std::uint32_t other : placed) {
      if (!lives[i].overlaps(lives[other])) continue;
      alive.push_back(other);
      const std::uint64_t end =
          program.buffers[other].base + *size_in_bytes(program.buffers[other]);
      bases.push_back((end + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment);
    }
    std::ranges::sort(bases);
    for (const std::uint64_t base : bases) {
      buffer.base = base;
      const bool is_free = std::ranges::none_of(
          alive, [&](std::uint32_t other) { return share_memory(buffer, program.buffers[other]); });
      if (is_free) break;
    }
    placed.push_back(i);
  }
}

}  // namespace mgtune::engine

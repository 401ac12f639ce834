#include "validate/check_instruction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "elements/elements.h"
#include "program/operation.h"

namespace mgtune::engine {
namespace {

struct HostBuffer {
  std::string_view name;
  BufferKind kind;
  DType dtype;
  std::uint64_t elements;
};

Status check_host_buffers(const Program& program) {
  const std::array<HostBuffer, 5> host_buffers = {{
      {kTokens, BufferKind::state, DType::i32, program.rows},
      {kPositions, BufferKind::state, DType::i32, program.rows},
      {kLengths, BufferKind::state, DType::i32, program.rows},
      {kSampling, BufferKind::state, DType::f32, 3 * std::uint64_t{program.rows}},
      {kLogits, BufferKind::output, DType::f32, std::uint64_t{program.rows} * program.vocabulary},
  }};
  for (const HostBuffer& wanted : host_buffers) {
    const std::optional<std::uint32_t> found = program.find_buffer(wanted.name);
    if (!found) continue;
    const Buffer& buffer = program.buffers[*found];
    if (buffer.kind != wanted.kind || buffer.dtype != wanted.dtype ||
        buffer.elements != wanted.elements) {
      return invalid_argument(fmt::format("buffer {}: it must be {} {} with {} elements",
                                          wanted.name, to_string(wanted.kind),
                                          to_string(wanted.dtype), wanted.elements));
    }
  }
  return {};
}

std::string buffer_mistake(const Buffer& buffer) {
  if (!is_buffer_name(buffer.name)) return "its name has a character that names cannot have";
  if (buffer.elements == 0) return "it has no elements";
  if (!size_in_bytes(buffer)) return "its end does not fit into 63 bits";
  if (buffer.base % kBufferAlignment != 0) {
    return fmt::format("its base {} is no multiple of {}", buffer.base, kBufferAlignment);
  }
  if (buffer.dtype != DType::i32 && !is_element_dtype(buffer.dtype)) {
    return fmt::format("its dtype is {}, but it must be one of: i32, f32, f16, bf16",
                       to_string(buffer.dtype));
  }
  return "";
}

// The one dtype that the operand must have. nullopt if it can be any of f32, f16 and bf16.
std::optional<DType> fixed_dtype(const Instruction& instruction, Operand operand) {
  switch (operand) {
    case Operand::tokens:
    case Operand::positions:
    case Operand::lengths:
      return DType::i32;
    case Operand::statistics:
    case Operand::sampling:
      return DType::f32;
    case Operand::table:
      if (instruction.opcode == Opcode::linear) return DType::f32;
      break;
    case Operand::output:
      if (instruction.opcode == Opcode::attention_partial) return DType::f32;
      break;
    case Operand::input:
      if (instruction.opcode == Opcode::attention_reduce) return DType::f32;
      break;
    default:
      break;
  }
  return std::nullopt;
}

std::string kind_mistake(const OperandUse& use, const Buffer& buffer) {
  const bool is_host_operand = use.operand == Operand::tokens ||
                               use.operand == Operand::positions ||
                               use.operand == Operand::lengths || use.operand == Operand::keys ||
                               use.operand == Operand::values || use.operand == Operand::sampling;
  if (is_host_operand && buffer.kind != BufferKind::state) {
    return fmt::format("{} must be of the kind state", to_string(use.operand));
  }
  if (use.access != Access::read && buffer.kind == BufferKind::weight) {
    return fmt::format("{} is written, but it is a weight", to_string(use.operand));
  }
  // Only the operands above may write state: they keep values from step to step.
  if (!is_host_operand && use.access != Access::read && buffer.kind == BufferKind::state) {
    return fmt::format("{} must not be of the kind state", to_string(use.operand));
  }
  return "";
}

// The host checks the values in these buffers: a token is below the vocabulary, a position below
// the bucket. So no other buffer may be used instead of them.
std::string host_name_mistake(const OperandUse& use, const Buffer& buffer) {
  switch (use.operand) {
    case Operand::tokens:
      return buffer.name == kTokens ? "" : "tokens must be the buffer 'tokens'";
    case Operand::positions:
      return buffer.name == kPositions ? "" : "positions must be the buffer 'positions'";
    case Operand::lengths:
      return buffer.name == kLengths ? "" : "lengths must be the buffer 'lengths'";
    case Operand::sampling:
      return buffer.name == kSampling ? "" : "sampling must be the buffer 'sampling'";
    default:
      return "";
  }
}

std::string operand_mistake(const Program& program, const Instruction& instruction,
                            const OperandUse& use) {
  const std::uint32_t index = instruction.at(use.operand);
  if (index == kNone)
    return use.required ? fmt::format("{} is missing", to_string(use.operand)) : "";
  if (index >= program.buffers.size()) {
    return fmt::format("{} is buffer {}, but there are only {}", to_string(use.operand), index,
                       program.buffers.size());
  }
  const Buffer& buffer = program.buffers[index];
  if (std::string mistake = kind_mistake(use, buffer); !mistake.empty()) return mistake;
  if (std::string mistake = host_name_mistake(use, buffer); !mistake.empty()) return mistake;
  const std::optional<DType> dtype = fixed_dtype(instruction, use.operand);
  if (dtype ? buffer.dtype != *dtype : !is_element_dtype(buffer.dtype)) {
    return fmt::format("{} is {}, but it must be {}", to_string(use.operand),
                       to_string(buffer.dtype), dtype ? to_string(*dtype) : "f32, f16 or bf16");
  }
  const std::optional<std::uint64_t> needed = needed_elements(instruction, use.operand);
  if (!needed || buffer.elements != *needed) {
    return fmt::format("{} has {} elements, but the instruction needs {}", to_string(use.operand),
                       buffer.elements, needed ? std::to_string(*needed) : "too many");
  }
  return "";
}

std::string bound_mistake(const Program& program, const Instruction& instruction) {
  if (instruction.opcode != Opcode::barrier && instruction.rows != program.rows) {
    return fmt::format("rows is {}, but the program has {}", instruction.rows, program.rows);
  }
  if (instruction.capacity != 0 && instruction.capacity < program.positions) {
    return fmt::format("capacity is {}, but the program serves {} positions", instruction.capacity,
                       program.positions);
  }
  const bool uses_tokens = instruction.has(Operand::tokens);
  if (uses_tokens && instruction.in != program.vocabulary) {
    return fmt::format("in is {}, but the vocabulary has {}", instruction.in, program.vocabulary);
  }
  return "";
}

// An instruction must not read memory that it writes, nor write any memory twice. There is one
// exception: the output may be the buffer of the residual.
std::string alias_mistake(const Program& program, const Instruction& instruction) {
  const auto uses = operand_uses(instruction.opcode);
  for (const OperandUse& writer : uses) {
    if (writer.access == Access::read || !instruction.has(writer.operand)) continue;
    for (const OperandUse& other : uses) {
      if (&other == &writer || !instruction.has(other.operand)) continue;
      const std::uint32_t written = instruction.at(writer.operand);
      const std::uint32_t touched = instruction.at(other.operand);
      const bool is_in_place = other.operand == Operand::residual && written == touched;
      if (!is_in_place && share_memory(program.buffers[written], program.buffers[touched])) {
        return fmt::format("{} and {} share memory", to_string(writer.operand),
                           to_string(other.operand));
      }
    }
  }
  return "";
}

std::string instruction_mistake(const Program& program, const Instruction& instruction) {
  const auto uses = operand_uses(instruction.opcode);
  for (std::size_t i = 0; i < kOperandCount; ++i) {
    const auto operand = static_cast<Operand>(i);
    const bool is_used = std::ranges::find(uses, operand, &OperandUse::operand) != uses.end();
    if (!is_used && instruction.has(operand)) {
      return fmt::format("{} has no meaning here", to_string(operand));
    }
  }
  if (std::string mistake = size_mistake(instruction); !mistake.empty()) return mistake;
  if (std::string mistake = bound_mistake(program, instruction); !mistake.empty()) return mistake;
  for (const OperandUse& use : uses) {
    std::string mistake = operand_mistake(program, instruction, use);
    if (!mistake.empty()) return mistake;
  }
  return alias_mistake(program, instruction);
}

}  // namespace

Status check_buffers(const Program& program) {
  std::set<std::string_view> names;
  for (const Buffer& buffer : program.buffers) {
    const std::string mistake = buffer_mistake(buffer);
    if (!mistake.empty()) {
      return invalid_argument(fmt::format("buffer {}: {}", buffer.name, mistake));
    }
    if (!names.insert(buffer.name).second) {
      return invalid_argument(fmt::format("two buffers are called {}", buffer.name));
    }
  }
  // Only scratch buffers may overlap. Of the other kinds, neighbours in the order of the bases are
  // compared.
  for (const BufferKind kind : {BufferKind::weight, BufferKind::state, BufferKind::output}) {
    std::vector<const Buffer*> sorted;
    for (const Buffer& buffer : program.buffers) {
      if (buffer.kind == kind) sorted.push_back(&buffer);
    }
    std::ranges::sort(sorted, {}, &Buffer::base);
    for (std::size_t i = 1; i < sorted.size(); ++i) {
      if (!share_memory(*sorted[i - 1], *sorted[i])) continue;
      return invalid_argument(fmt::format("the {} buffers {} and {} share memory", to_string(kind),
                                          sorted[i - 1]->name, sorted[i]->name));
    }
  }
  return check_host_buffers(program);
}

Status check_instruction(const Program& program, const Instruction& instruction) {
  const std::string mistake = instruction_mistake(program, instruction);
  return mistake.empty() ? Status() : invalid_argument(mistake);
}

}  // namespace mgtune::engine

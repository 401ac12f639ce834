// What each opcode demands: its operands, how it accesses them, how many elements they have, and
// the sizes that it uses. The validator, the text form and the ways to run a program share this
// table. Pure functions.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "program/instruction.h"

namespace mgtune::engine {

enum class Access : std::uint8_t {
  read,
  write,   // writes all elements
  update,  // reads and writes the buffer, or writes a part of it
};

struct OperandUse {
  Operand operand;
  Access access;
  bool required;
};
std::span<const OperandUse> operand_uses(Opcode opcode);

// The number of elements that the operand's buffer must have. nullopt if the number needs more than
// 63 bits. The sizes of the instruction must be valid (size_mistake()).
std::optional<std::uint64_t> needed_elements(const Instruction& instruction, Operand operand);

// A size of the instruction by its name, in the order of the text form.
struct SizeField {
  std::string_view name;
  std::uint32_t Instruction::*member;
};
inline constexpr std::array<SizeField, 9> kSizeFields = {{
    {"rows", &Instruction::rows},
    {"in", &Instruction::in},
    {"out", &Instruction::out},
    {"heads", &Instruction::heads},
    {"kv_heads", &Instruction::kv_heads},
    {"head_dim", &Instruction::head_dim},
    {"capacity", &Instruction::capacity},
    {"window", &Instruction::window},
    {"splits", &Instruction::splits},
}};

// Whether a linear instruction writes its q part to `output` and appends k and v to the cache.
bool appends(const Instruction& instruction);

// The columns that an instruction writes per row of its output.
std::uint64_t output_columns(const Instruction& instruction);

inline constexpr std::uint32_t kMaxRows = 8;
inline constexpr std::uint32_t kMaxSplits = 256;

// What is wrong with the sizes, kinds and numbers of the instruction. Empty if nothing is.
std::string size_mistake(const Instruction& instruction);

}  // namespace mgtune::engine

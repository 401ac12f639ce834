// RowAccess: the operands of one instruction as rows of floats. It borrows the program and the
// memory. One thread.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "program/program.h"
#include "reference/machine_memory.h"

namespace mgtune::engine {

class RowAccess {
 public:
  RowAccess(const Program& program, const Instruction& instruction, MachineMemory& memory)
      : program_(program), instruction_(instruction), memory_(memory) {}

  const Instruction& instruction() const { return instruction_; }
  const Program& program() const { return program_; }

  // `count` elements from `offset` on.
  std::vector<float> load(Operand operand, std::uint64_t offset, std::uint64_t count) const;
  void load(Operand operand, std::uint64_t offset, std::span<float> to) const;
  void store(Operand operand, std::uint64_t offset, std::span<const float> from);

  std::int32_t load_integer(Operand operand, std::uint64_t index) const;
  void store_integer(Operand operand, std::uint64_t index, std::int32_t value);

 private:
  const Buffer& buffer(Operand operand) const { return program_.buffers[instruction_.at(operand)]; }

  const Program& program_;
  const Instruction& instruction_;
  MachineMemory& memory_;
};

}  // namespace mgtune::engine

#include "reference/execute.h"

#include <fmt/format.h>

#include <vector>

#include "program/operation.h"
#include "program/run_order.h"
#include "reference/execute_attention.h"
#include "reference/execute_linear.h"
#include "reference/row_access.h"
#include "reference/sampler.h"

namespace mgtune::engine {
namespace {

Status execute_embed(RowAccess& access) {
  const Instruction& instruction = access.instruction();
  for (std::uint32_t row = 0; row < instruction.rows; ++row) {
    const std::int32_t token = access.load_integer(Operand::tokens, row);
    if (token < 0 || static_cast<std::uint32_t>(token) >= instruction.in) {
      return invalid_argument(fmt::format("token {} of sequence {} is not below {}, the vocabulary",
                                          token, row, instruction.in));
    }
    std::vector<float> x = access.load(
        Operand::weight, static_cast<std::uint64_t>(token) * instruction.out, instruction.out);
    if (instruction.has(Operand::table)) {
      MGTUNE_ASSIGN(const std::uint32_t position, position_of(access, row));
      const std::vector<float> learned =
          access.load(Operand::table, std::uint64_t{position} * instruction.out, instruction.out);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += learned[i];
    }
    access.store(Operand::output, std::uint64_t{row} * instruction.out, x);
  }
  return {};
}

void execute_choice(RowAccess& access) {
  const Instruction& instruction = access.instruction();
  for (std::uint32_t row = 0; row < instruction.rows; ++row) {
    const std::vector<float> logits =
        access.load(Operand::input, std::uint64_t{row} * instruction.in, instruction.in);
    std::int32_t token = 0;
    if (instruction.opcode == Opcode::sample) {
      const std::vector<float> sampling = access.load(Operand::sampling, 3 * std::uint64_t{row}, 3);
      token = sample_token(logits, sampling[0], sampling[1], sampling[2]);
    } else {
      token = argmax(logits);
    }
    access.store_integer(Operand::tokens, row, token);
    for (const Operand operand : {Operand::positions, Operand::lengths}) {
      if (!instruction.has(operand)) continue;
      // The host notices a position that is too large before the next step; here it must not wrap.
      const auto next = static_cast<std::uint32_t>(access.load_integer(operand, row)) + 1;
      access.store_integer(operand, row, static_cast<std::int32_t>(next));
    }
  }
}

void execute_copy(RowAccess& access) {
  const Instruction& instruction = access.instruction();
  const std::uint64_t count = std::uint64_t{instruction.rows} * instruction.out;
  std::vector<float> elements(count);
  if (instruction.opcode == Opcode::copy) access.load(Operand::input, 0, elements);
  access.store(Operand::output, 0, elements);
}

}  // namespace

Status execute(const Program& program, const Instruction& instruction, MachineMemory& memory) {
  RowAccess access(program, instruction, memory);
  switch (instruction.opcode) {
    case Opcode::embed:
      return execute_embed(access);
    case Opcode::norm:
      execute_norm(access);
      return {};
    case Opcode::linear:
      return execute_linear(access);
    case Opcode::attention:
    case Opcode::attention_partial:
      return execute_attention(access);
    case Opcode::attention_reduce:
      execute_attention_reduce(access);
      return {};
    case Opcode::argmax:
    case Opcode::sample:
      execute_choice(access);
      return {};
    case Opcode::copy:
    case Opcode::zero:
      execute_copy(access);
      return {};
    case Opcode::barrier:
      break;
  }
  return {};
}

Status execute_step(const Program& program, MachineMemory& memory) {
  MGTUNE_ASSIGN(const std::vector<std::uint32_t> order, run_order(program));
  for (const std::uint32_t i : order) {
    MGTUNE_TRY(execute(program, program.instructions[i], memory));
  }
  return {};
}

}  // namespace mgtune::engine

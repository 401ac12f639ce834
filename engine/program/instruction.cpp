#include "program/instruction.h"

namespace mgtune::engine {

std::string_view to_string(Opcode opcode) { return kOpcodeWords[static_cast<std::size_t>(opcode)]; }

std::string_view to_string(Operand operand) {
  return kOperandWords[static_cast<std::size_t>(operand)];
}

}  // namespace mgtune::engine

#include "program/access.h"

namespace mgtune::engine {

std::vector<BufferAccess> buffer_accesses(const Instruction& instruction) {
  std::vector<BufferAccess> accesses;
  for (const OperandUse& use : operand_uses(instruction.opcode)) {
    if (!instruction.has(use.operand)) continue;
    accesses.push_back(
        {instruction.at(use.operand), use.access != Access::write, use.access != Access::read});
  }
  return accesses;
}

}  // namespace mgtune::engine

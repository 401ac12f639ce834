// The memory that an instruction touches. A pure function.

#pragma once

#include <cstdint>
#include <vector>

#include "program/operation.h"
#include "program/program.h"

namespace mgtune::engine {

struct BufferAccess {
  std::uint32_t buffer = 0;
  bool reads = false;
  bool writes = false;
};

// One entry per operand that the instruction has.
std::vector<BufferAccess> buffer_accesses(const Instruction& instruction);

}  // namespace mgtune::engine

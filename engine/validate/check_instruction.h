// What can be checked of one buffer or one instruction alone: sizes, dtypes, kinds and operands.
// Pure functions.

#pragma once

#include "core/status.h"
#include "program/program.h"

namespace mgtune::engine {

// Names, sizes, places, and the shapes of the buffers that the host uses.
Status check_buffers(const Program& program);

// The buffers must have passed check_buffers().
Status check_instruction(const Program& program, const Instruction& instruction);

}  // namespace mgtune::engine

// The way `reference`: executes the instructions of a program on the host, in float with sums in
// double. The other ways are compared with it. Results are rounded to the dtypes of their buffers,
// and to nothing else. One thread at a time per memory.

#pragma once

#include "core/status.h"
#include "program/program.h"
#include "reference/machine_memory.h"

namespace mgtune::engine {

// The program must be valid. invalid_argument if a token or a position is out of its range.
Status execute(const Program& program, const Instruction& instruction, MachineMemory& memory);

// All instructions, in an order that the program allows.
Status execute_step(const Program& program, MachineMemory& memory);

}  // namespace mgtune::engine

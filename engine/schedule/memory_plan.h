// Lets the scratch buffers of a program share memory. Pure functions on a program whose
// instructions are in their final order.

#pragma once

#include "program/program.h"

namespace mgtune::engine {

// Lets a linear instruction add to its residual in place if nobody reads the residual afterwards:
// the output and the residual become one buffer.
void merge_residuals(Program& program);

// Places every scratch buffer at the lowest base where it shares memory only with buffers that are
// not alive at the same time. A buffer is alive from the first instruction that uses it to the
// last.
void place_scratch(Program& program);

}  // namespace mgtune::engine

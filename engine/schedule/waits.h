// Keeps the results of a program the same although its instructions are in several queues. A
// function on one program.

#pragma once

#include "program/program.h"

namespace mgtune::engine {

// Adds the counters, signals and waits that give the program the same results as if its
// instructions ran in their order. The program must have none of them yet, and no barriers. Its
// scratch must have been placed. An instruction that needs more than kMaxWaits waits gets a barrier
// before it instead.
void add_waits(Program& program);

}  // namespace mgtune::engine

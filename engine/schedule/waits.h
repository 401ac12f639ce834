// Makes the order of a program hold although its instructions are in several queues. A function on
// one program.

#pragma once

#include "program/program.h"

namespace mgtune::engine {

// Adds the counters, signals and waits that give the program the same results as if its
// instructions ran in their order. The program has none yet, and no barriers. Scratch must have
// been placed. An instruction that would need more waits than a record has gets a barrier before
// it.
void add_waits(Program& program);

}  // namespace mgtune::engine

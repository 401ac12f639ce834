// The static validator of programs. A program that it accepts can be run in every way: all
// instructions come to an end, none reads memory that was not written, no two race, and none
// accesses memory outside of its buffers, as long as the host sets tokens and positions within
// their bounds. A pure function.

#pragma once

#include "core/status.h"
#include "program/program.h"

namespace mgtune::engine {

// invalid_argument with the first mistake and its place, for example
// "instruction 7 (linear): output has 64 elements, but the instruction needs 128".
Status validate(const Program& program);

}  // namespace mgtune::engine

// The text form of a program: a line per buffer and instruction, for reading and for tests. It
// holds the whole program, so program_from_text(program_text(p)) is p. Pure functions.
//
//   mgengine program 1
//   rows=1 capacity=512 positions=512 vocabulary=512 queues=1 counters=0
//   buffer x scratch f32 64 @0
//   linear layer=0 rows=1 in=64 out=128 norm=rms epsilon=1e-05 input=x weight=... output=...

#pragma once

#include <string>
#include <string_view>

#include "core/status.h"
#include "program/program.h"

namespace mgtune::engine {

std::string program_text(const Program& program);
std::string instruction_text(const Program& program, const Instruction& instruction);

// corrupt, with the line, if the text is no program.
Result<Program> program_from_text(std::string_view text);

}  // namespace mgtune::engine

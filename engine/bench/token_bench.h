// Measures the time of a step at given positions. The caches are not filled up to the position
// first: the speed does not depend on what they hold.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "generate/session.h"

namespace mgtune::engine {

struct InstructionTime {
  std::string text;         // the opcode, and its weight without the layer
  std::uint32_t count = 0;  // instructions with this text
  double seconds = 0;       // for all of them in a step: median of at most 5 steps
  std::uint64_t bytes = 0;  // weights and caches that all of them read in a step
};

struct TokenTime {
  std::uint32_t position = 0;
  std::uint32_t run = 0;    // steps per run
  double seconds = 0;       // per step, the median over the runs
  std::uint64_t bytes = 0;  // weights and caches that a step at this position reads
  std::vector<InstructionTime> instructions;  // in the order of the program; see below
};

// Does one run that is not timed, and then `runs` timed runs. A run is `run` steps in a row, or
// fewer if the bucket of the position has fewer positions. It begins at the position, or earlier if
// it would otherwise leave the bucket. invalid_argument if the position is not below the capacity.
// The times of instructions are zero if the way of the session cannot time them.
Result<TokenTime> measure_token(Session& session, std::uint32_t position, std::uint32_t runs,
                                std::uint32_t run);

}  // namespace mgtune::engine

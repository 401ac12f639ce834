// Measures the time of a step at some positions. The caches before the position hold whatever they
// hold: the speed does not depend on it.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "generate/session.h"

namespace mgtune::engine {

struct InstructionTime {
  std::string text;         // the opcode and what it works on, without the layer
  std::uint32_t count = 0;  // instructions that differ only in their layer
  double seconds = 0;       // of all of them in one step, median over at most 5 steps
  std::uint64_t bytes = 0;  // of weights and caches, likewise
};

struct TokenTime {
  std::uint32_t position = 0;
  std::uint32_t run = 0;    // the steps of a run
  double seconds = 0;       // of a step, median over the runs
  std::uint64_t bytes = 0;  // weights and caches that a step at this position reads
  std::vector<InstructionTime> instructions;  // in the order of the program; see below
};

// `runs` timed runs after one that is not timed. A run has `run` steps one after the other, or as
// many as the bucket of the position has. They begin at the position, or so far before it that they
// end in its bucket. invalid_argument if the position is not below the capacity. The times of
// instructions are zero if the way of the session cannot time them.
Result<TokenTime> measure_token(Session& session, std::uint32_t position, std::uint32_t runs,
                                std::uint32_t run);

}  // namespace mgtune::engine

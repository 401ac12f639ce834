// Program: the instructions that compute one step of a model (one token for each sequence of the
// batch), and the buffers that they work on. Plain data. A program that came from elsewhere must
// pass validate() (validate/validate.h) before it is run.
//
// The tokens and their positions lie in buffers. So one program serves all positions below
// `positions`, and every model: nothing of a model is compiled into code.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "program/buffer.h"
#include "program/instruction.h"

namespace mgtune::engine {

struct Program {
  std::uint32_t rows = 1;        // sequences of the batch
  std::uint32_t capacity = 0;    // positions that the caches have room for
  std::uint32_t positions = 0;   // the program serves positions below this: its bucket
  std::uint32_t vocabulary = 0;  // tokens are below this
  std::uint32_t queues = 1;
  std::uint32_t counters = 0;
  std::vector<Buffer> buffers;
  std::vector<Instruction> instructions;

  std::optional<std::uint32_t> find_buffer(std::string_view name) const;
  bool operator==(const Program&) const = default;
};

// The buffers through which a host talks to a program. A program of a model must have all of them,
// except `sampling`, which only a program that samples needs.
inline constexpr std::string_view kTokens = "tokens";        // i32[rows], state
inline constexpr std::string_view kPositions = "positions";  // i32[rows], state
inline constexpr std::string_view kLengths = "lengths";      // i32[rows], state: positions + 1
inline constexpr std::string_view kSampling = "sampling";    // f32[rows, 3], state
inline constexpr std::string_view kLogits = "logits";        // f32[rows, vocabulary], output

// The bytes of the arena of each kind: the end of its last buffer. nullopt if a size does not fit
// into 63 bits.
std::optional<std::uint64_t> arena_bytes(const Program& program, BufferKind kind);

}  // namespace mgtune::engine

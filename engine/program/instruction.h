// Instruction: one operation of a program on named buffers, with its sizes. Plain data. What each
// opcode computes is in engine/README.md; which operands it has is in operation.h.
//
// A size or operand that an opcode does not use is zero or kNone.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mgtune::engine {

inline constexpr std::uint32_t kNone = 0xffffffff;  // no buffer, no counter, no layer

enum class Opcode : std::uint8_t {
  embed,
  norm,
  linear,
  attention,          // over all keys
  attention_partial,  // over each part of the keys
  attention_reduce,   // joins the parts
  argmax,
  sample,
  copy,
  zero,
  barrier,
};
inline constexpr std::array<std::string_view, 11> kOpcodeWords = {
    "embed",  "norm", "linear", "attention", "attention_partial", "attention_reduce", "argmax",
    "sample", "copy", "zero",   "barrier"};

enum class Norm : std::uint8_t { none, rms, layer };
inline constexpr std::array<std::string_view, 3> kNormWords = {"none", "rms", "layer"};

enum class Activation : std::uint8_t { none, silu_gate, gelu_tanh };
inline constexpr std::array<std::string_view, 3> kActivationWords = {"none", "silu_gate",
                                                                     "gelu_tanh"};

// Which two elements of a head a rotary embedding rotates as a pair.
enum class Rotation : std::uint8_t {
  none,
  halves,  // i and i + head_dim / 2, as in Hugging Face checkpoints
  pairs,   // 2 * i and 2 * i + 1, as in llama2.c
};
inline constexpr std::array<std::string_view, 3> kRotationWords = {"none", "halves", "pairs"};

enum class Operand : std::uint8_t {
  input,
  output,
  weight,
  bias,
  norm_weight,
  norm_bias,
  residual,
  tokens,      // i32, one per row
  positions,   // i32, one per row: the index of the token that this step computes
  lengths,     // i32, one per row: positions + 1, the keys that attention sees
  table,       // the cosines and sines of a rotary embedding, or the learned positions
  keys,        // the cache
  values,      // the cache
  statistics,  // f32, the logarithm of the sum of exponentials per part
  sampling,    // f32, three per row: temperature, top-p and a random number from [0, 1)
};
inline constexpr std::size_t kOperandCount = 15;
inline constexpr std::array<std::string_view, kOperandCount> kOperandWords = {
    "input",     "output",  "weight", "bias", "norm_weight", "norm_bias",  "residual", "tokens",
    "positions", "lengths", "table",  "keys", "values",      "statistics", "sampling"};

std::string_view to_string(Opcode opcode);
std::string_view to_string(Operand operand);

// Waits until `value` instructions that signal `counter` have ended. Counters start every step at
// zero.
struct Wait {
  std::uint32_t counter = kNone;
  std::uint32_t value = 0;

  bool operator==(const Wait&) const = default;
};
inline constexpr std::size_t kMaxWaits = 4;

struct Instruction {
  Opcode opcode = Opcode::barrier;
  Norm norm = Norm::none;
  Activation activation = Activation::none;
  Rotation rotation = Rotation::none;
  std::uint32_t queue = 0;  // instructions of one queue run in the order of the program
  std::uint32_t rows = 0;   // sequences of the batch: 1 to 8
  std::uint32_t in = 0;     // columns of the input
  std::uint32_t out = 0;    // rows of the weight
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t capacity = 0;  // positions for which a cache or a table has room
  std::uint32_t window = 0;    // keys that a query sees, its own included; 0: all
  std::uint32_t splits = 0;    // parts of the keys
  std::uint32_t layer = kNone;
  float epsilon = 0;        // of the norm
  float scale = 0;          // of the logits of attention
  std::uint64_t bytes = 0;  // weights and caches that it reads: its cost for the schedule
  std::array<std::uint32_t, kOperandCount> operands = none_of_all();
  std::uint32_t signal = kNone;  // the counter that goes up by one when the instruction has ended
  std::array<Wait, kMaxWaits> waits = {};

  std::uint32_t& at(Operand operand) { return operands[static_cast<std::size_t>(operand)]; }
  std::uint32_t at(Operand operand) const { return operands[static_cast<std::size_t>(operand)]; }
  bool has(Operand operand) const { return at(operand) != kNone; }

  bool operator==(const Instruction&) const = default;

 private:
  static constexpr std::array<std::uint32_t, kOperandCount> none_of_all() {
    std::array<std::uint32_t, kOperandCount> operands{};
    operands.fill(kNone);
    return operands;
  }
};

}  // namespace mgtune::engine

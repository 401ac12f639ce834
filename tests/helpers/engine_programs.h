// Programs of a model that is as small as a model can be, for tests of schedules and validators.

#pragma once

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

#include "lower/lower.h"
#include "reference/execute.h"
#include "schedule/memory_plan.h"
#include "schedule/waits.h"
#include "tests/helpers/engine_models.h"
#include "weights/load_weights.h"

namespace mgtune::engine {

inline ModelConfig smallest_model() {
  ModelConfig config;
  config.layers = 2;
  config.width = 8;
  config.heads = 2;
  config.kv_heads = 1;
  config.head_dim = 4;
  config.inner = 6;
  config.vocabulary = 12;
  config.positions = 8;
  config.tied_head = true;
  return config;
}

// Whatever the costs say, the instructions go to random queues.
inline Program with_random_queues(Program program, std::uint32_t queues, std::uint32_t seed) {
  std::mt19937 random(seed);
  program.queues = queues;
  for (Instruction& instruction : program.instructions) {
    instruction.queue = static_cast<std::uint32_t>(random() % queues);
  }
  merge_residuals(program);
  place_scratch(program);
  add_waits(program);
  return program;
}

// Runs programs on the reference in random orders that their queues allow. The rules are those of
// engine/README.md, written down a second time and without any thought of speed.
class RandomRunner {
 public:
  explicit RandomRunner(const LoweredModel& model)
      : weights_(must(random_weights(model.program, model.recipes, smallest_model(), 1))) {}

  struct Outcome {
    bool is_stuck = false;
    std::string failure;            // of an instruction
    std::vector<std::byte> memory;  // state and outputs after the step
    bool operator==(const Outcome&) const = default;
  };

  Outcome run(const Program& program, std::uint32_t seed) {
    std::mt19937 random(seed);
    Outcome outcome;
    MachineMemory memory = must(MachineMemory::create(std::span(&program, 1), weights_));
    fill(program, memory, static_cast<std::byte>(random()));
    std::vector<bool> ended(program.instructions.size());
    for (std::size_t count = 0; count < ended.size(); ++count) {
      std::vector<std::size_t> ready;
      for (std::size_t i = 0; i < ended.size(); ++i) {
        if (!ended[i] && can_run(program, ended, i)) ready.push_back(i);
      }
      if (ready.empty()) {
        outcome.is_stuck = true;
        break;
      }
      const std::size_t next = ready[random() % ready.size()];
      const Status status = execute(program, program.instructions[next], memory);
      if (!status.ok()) {
        outcome.failure = status.message();
        break;
      }
      ended[next] = true;
    }
    for (const Buffer& buffer : program.buffers) {
      if (buffer.kind != BufferKind::state && buffer.kind != BufferKind::output) continue;
      const std::span<const std::byte> bytes = memory.read(buffer);
      outcome.memory.insert(outcome.memory.end(), bytes.begin(), bytes.end());
    }
    return outcome;
  }

  // Whether all of some runs end, and end alike.
  bool is_deterministic(const Program& program, std::uint32_t runs) {
    const Outcome first = run(program, 1);
    if (first.is_stuck || !first.failure.empty()) return false;
    for (std::uint32_t seed = 2; seed <= runs; ++seed) {
      if (run(program, seed) != first) return false;
    }
    return true;
  }

 private:
  // Scratch and outputs begin with bytes that differ from run to run; the state is always the same.
  static void fill(const Program& program, MachineMemory& memory, std::byte noise) {
    for (const Buffer& buffer : program.buffers) {
      if (buffer.kind == BufferKind::weight) continue;
      const std::span<std::byte> bytes = memory.write(buffer);
      const bool is_state = buffer.kind == BufferKind::state;
      std::ranges::fill(bytes, is_state ? std::byte{0} : noise);
      if (buffer.dtype != DType::i32 || !is_state) continue;
      // The last position that the program serves.
      const auto value =
          static_cast<std::int32_t>(buffer.name == kTokens    ? 3
                                    : buffer.name == kLengths ? program.positions
                                                              : program.positions - 1);
      for (std::size_t i = 0; i < bytes.size(); i += sizeof(value)) {
        std::memcpy(bytes.data() + i, &value, sizeof(value));
      }
    }
  }

  static bool can_run(const Program& program, const std::vector<bool>& ended, std::size_t index) {
    const Instruction& instruction = program.instructions[index];
    for (std::size_t before = 0; before < index; ++before) {
      const Instruction& other = program.instructions[before];
      const bool must_end = other.queue == instruction.queue || other.opcode == Opcode::barrier ||
                            instruction.opcode == Opcode::barrier;
      if (must_end && !ended[before]) return false;
    }
    for (const Wait& wait : instruction.waits) {
      if (wait.counter == kNone) continue;
      std::uint32_t counter = 0;
      for (std::size_t i = 0; i < ended.size(); ++i) {
        counter += ended[i] && program.instructions[i].signal == wait.counter ? 1 : 0;
      }
      if (counter < wait.value) return false;
    }
    return true;
  }

  std::vector<std::byte> weights_;
};

}  // namespace mgtune::engine

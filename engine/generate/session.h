// Session: a model that is ready to run: its programs, its weights and the state of 1 to 8
// sequences. Each step takes one token per sequence. One thread at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "lower/lower.h"
#include "model/model_config.h"
#include "program/machine.h"
#include "weights/tensor_set.h"

namespace mgtune::engine {

struct SessionOptions {
  MachineFactory machine;  // empty: the way `reference`
  std::uint32_t rows = 1;
  std::uint32_t capacity = 0;  // 0: the positions of the model
  Precision precision;
  std::uint32_t queues = 1;
  std::uint32_t workers = 1;  // parallel units that attention should have work for
  bool fuse_norms = true;
  bool sample = false;
};

// The programs of all buckets, scheduled and validated, and the recipes of their weights.
struct ModelPrograms {
  std::vector<Program> programs;  // in the order of the buckets
  std::vector<WeightRecipe> recipes;
};
Result<ModelPrograms> make_programs(const ModelConfig& config, const SessionOptions& options);

// How one sequence of a program that samples chooses its next token.
struct Sampling {
  float temperature = 0;
  float top_p = 1;
  float uniform = 0;  // a new number from [0, 1) for each step
};

class Session {
 public:
  // The session does not use the tensors after this call.
  static Result<Session> create(const ModelConfig& config, const TensorSet& tensors,
                                const SessionOptions& options);
  static Result<Session> create_random(const ModelConfig& config, const SessionOptions& options,
                                       std::uint64_t seed);

  std::uint32_t rows() const { return programs_[0].rows; }
  std::uint32_t capacity() const { return programs_[0].capacity; }
  std::uint32_t vocabulary() const { return programs_[0].vocabulary; }
  std::uint32_t position() const { return position_; }  // of the next step
  const std::vector<Program>& programs() const { return programs_; }

  // Sets the position of the next step for all sequences; 0 begins them anew. The caches keep what
  // they hold before the position.
  Status set_position(std::uint32_t position);

  // Call this before each step of a program that samples.
  Status set_sampling(std::span<const Sampling> rows);

  // Takes one token per sequence. invalid_argument, without any effect, if a token is not below the
  // vocabulary or if the caches are full.
  Status step(std::span<const std::int32_t> tokens);

  // Runs `count` steps. Each step after the first takes the tokens that the step before it has
  // chosen. All steps must be in the bucket of program().
  Status steps(std::span<const std::int32_t> tokens, std::uint32_t count);

  // Runs one step. Returns the time of each instruction of program() in seconds.
  Result<std::vector<double>> timed_step(std::span<const std::int32_t> tokens);

  // The program that the next step runs: the program of the bucket of position(), which must be
  // below the capacity.
  const Program& program() const;

  // Returns a position from which `count` steps stay in the bucket of program(): position(), or an
  // earlier one. If the bucket has fewer positions, the result is its first position, and `count`
  // is reduced.
  std::uint32_t begin_of_steps(std::uint32_t& count) const;

  // The logits of the last step, and the tokens that it chose.
  Result<std::vector<float>> logits(std::uint32_t row);
  Result<std::vector<std::int32_t>> next_tokens();

  Machine& machine() { return *machine_; }

 private:
  explicit Session(std::vector<Program> programs) : programs_(std::move(programs)) {}
  static Result<Session> start(ModelPrograms programs, std::vector<std::byte> weights,
                               const MachineFactory& machine);

  Status begin_step(std::span<const std::int32_t> tokens);
  const Buffer& host_buffer(std::string_view name) const;

  std::vector<Program> programs_;
  std::unique_ptr<Machine> machine_;
  std::uint32_t position_ = 0;
};

}  // namespace mgtune::engine

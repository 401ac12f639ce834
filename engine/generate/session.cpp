#include "generate/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reference/reference_machine.h"
#include "schedule/schedule.h"
#include "validate/validate.h"
#include "weights/load_weights.h"

namespace mgtune::engine {

Result<ModelPrograms> make_programs(const ModelConfig& config, const SessionOptions& options) {
  LowerOptions lowering;
  lowering.rows = options.rows;
  lowering.capacity = options.capacity == 0 ? config.positions : options.capacity;
  lowering.precision = options.precision;
  lowering.fuse_norms = options.fuse_norms;
  lowering.sample = options.sample;
  ModelPrograms result;
  for (const std::uint32_t bucket : position_buckets(lowering.capacity)) {
    lowering.positions = bucket;
    const std::uint32_t splits =
        attention_splits(bucket, std::max(options.rows, 1U), config.kv_heads, options.workers);
    lowering.splits = splits == 1 ? 0 : splits;
    MGTUNE_ASSIGN(LoweredModel lowered, lower(config, lowering));
    MGTUNE_ASSIGN(Program program, schedule(std::move(lowered.program), options.queues));
    Status status = validate(program);
    if (!status.ok()) return internal_error("the schedule is wrong: " + status.message());
    result.programs.push_back(std::move(program));
    result.recipes = std::move(lowered.recipes);
  }
  return result;
}

Result<Session> Session::create(const ModelConfig& config, const TensorSet& tensors,
                                const SessionOptions& options) {
  MGTUNE_ASSIGN(ModelPrograms programs, make_programs(config, options));
  MGTUNE_ASSIGN(std::vector<std::byte> weights,
                load_weights(programs.programs[0], programs.recipes, config, tensors));
  return start(std::move(programs), std::move(weights), options.machine);
}

Result<Session> Session::create_random(const ModelConfig& config, const SessionOptions& options,
                                       std::uint64_t seed) {
  MGTUNE_ASSIGN(ModelPrograms programs, make_programs(config, options));
  MGTUNE_ASSIGN(std::vector<std::byte> weights,
                random_weights(programs.programs[0], programs.recipes, config, seed));
  return start(std::move(programs), std::move(weights), options.machine);
}

Result<Session> Session::start(ModelPrograms programs, std::vector<std::byte> weights,
                               const MachineFactory& machine) {
  Session session(std::move(programs.programs));
  MGTUNE_ASSIGN(session.machine_,
                machine ? machine(session.programs_, std::move(weights))
                        : ReferenceMachine::create(session.programs_, std::move(weights)));
  return session;
}

const Program& Session::program() const {
  return *std::ranges::find_if(
      programs_, [&](const Program& program) { return position_ < program.positions; });
}

std::uint32_t Session::begin_of_steps(std::uint32_t& count) const {
  std::uint32_t first = 0;
  for (const Program& program : programs_) {
    if (program.positions <= position_) first = std::max(first, program.positions);
  }
  const std::uint32_t end = program().positions;
  count = std::min(count, end - first);
  return std::min(position_, end - count);
}

// All programs have these buffers at the same places.
const Buffer& Session::host_buffer(std::string_view name) const {
  return programs_[0].buffers[*programs_[0].find_buffer(name)];
}

Status Session::set_position(std::uint32_t position) {
  if (position > capacity()) {
    return invalid_argument(
        fmt::format("position {}: the caches have room for {}", position, capacity()));
  }
  position_ = position;
  return {};
}

Status Session::set_sampling(std::span<const Sampling> rows_sampling) {
  if (rows_sampling.size() != rows()) {
    return invalid_argument(
        fmt::format("{} samplings for {} sequences", rows_sampling.size(), rows()));
  }
  std::vector<float> numbers;
  for (const Sampling& sampling : rows_sampling) {
    numbers.insert(numbers.end(), {sampling.temperature, sampling.top_p, sampling.uniform});
  }
  return machine_->write(host_buffer(kSampling), std::as_bytes(std::span(numbers)));
}

Status Session::begin_step(std::span<const std::int32_t> tokens) {
  if (tokens.size() != rows()) {
    return invalid_argument(fmt::format("{} tokens for {} sequences", tokens.size(), rows()));
  }
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    if (tokens[row] >= 0 && static_cast<std::uint32_t>(tokens[row]) < vocabulary()) continue;
    return invalid_argument(fmt::format("token {} of sequence {} is not below {}, the vocabulary",
                                        tokens[row], row, vocabulary()));
  }
  if (position_ >= capacity()) {
    return invalid_argument(
        fmt::format("the caches are full: they have room for {} tokens", capacity()));
  }
  const std::vector<std::int32_t> positions(rows(), static_cast<std::int32_t>(position_));
  const std::vector<std::int32_t> lengths(rows(), static_cast<std::int32_t>(position_ + 1));
  MGTUNE_TRY(machine_->write(host_buffer(kTokens), std::as_bytes(tokens)));
  MGTUNE_TRY(machine_->write(host_buffer(kPositions), std::as_bytes(std::span(positions))));
  return machine_->write(host_buffer(kLengths), std::as_bytes(std::span(lengths)));
}

Status Session::step(std::span<const std::int32_t> tokens) {
  MGTUNE_TRY(begin_step(tokens));
  MGTUNE_TRY(machine_->step(program()));
  ++position_;
  return {};
}

Status Session::steps(std::span<const std::int32_t> tokens, std::uint32_t count) {
  MGTUNE_TRY(begin_step(tokens));
  const Program& first = program();
  if (count > first.positions - position_) {
    return invalid_argument(fmt::format("{} steps from position {}: the program ends before {}",
                                        count, position_, first.positions));
  }
  MGTUNE_TRY(machine_->steps(first, count));
  position_ += count;
  return {};
}

Result<std::vector<double>> Session::timed_step(std::span<const std::int32_t> tokens) {
  MGTUNE_TRY(begin_step(tokens));
  Result<std::vector<double>> seconds = machine_->timed_step(program());
  if (seconds.ok()) ++position_;
  return seconds;
}

Result<std::vector<float>> Session::logits(std::uint32_t row) {
  if (row >= rows()) {
    return invalid_argument(fmt::format("sequence {}: there are only {}", row, rows()));
  }
  std::vector<float> all(std::size_t{rows()} * vocabulary());
  MGTUNE_TRY(machine_->read(host_buffer(kLogits), std::as_writable_bytes(std::span(all))));
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row) * vocabulary();
  return std::vector<float>(begin, begin + vocabulary());
}

Result<std::vector<std::int32_t>> Session::next_tokens() {
  std::vector<std::int32_t> tokens(rows());
  MGTUNE_TRY(machine_->read(host_buffer(kTokens), std::as_writable_bytes(std::span(tokens))));
  return tokens;
}

}  // namespace mgtune::engine

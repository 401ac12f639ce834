#include "bench/token_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "program/operation.h"

namespace mgtune::engine {
namespace {

// Few runs, because the way `graph` builds a graph for each instruction that it times. This takes
// longer than the steps.
constexpr std::uint32_t kInstructionRuns = 5;

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// The bytes that the instruction reads at this position. For attention, instruction.bytes is the
// number at the end of the bucket.
std::uint64_t bytes_at(const Program& program, const Instruction& instruction,
                       std::uint32_t position) {
  const bool is_attention =
      instruction.opcode == Opcode::attention || instruction.opcode == Opcode::attention_partial;
  if (!is_attention) return instruction.bytes;
  const std::uint64_t keys =
      instruction.window == 0 ? position + 1 : std::min(position + 1, instruction.window);
  const Buffer& cache = program.buffers[instruction.at(Operand::keys)];
  return 2 * keys * instruction.rows * instruction.kv_heads * instruction.head_dim *
         static_cast<std::uint64_t>(size_in_bytes(cache.dtype));
}

// The name of the weight without its layer, or the opcode alone.
std::string instruction_name(const Program& program, const Instruction& instruction) {
  if (!instruction.has(Operand::weight)) return std::string(to_string(instruction.opcode));
  std::string weight = program.buffers[instruction.at(Operand::weight)].name;
  if (instruction.layer != kNone) {
    weight = weight.substr(weight.find('.', weight.find('.') + 1) + 1);
  }
  return fmt::format("{} {}", to_string(instruction.opcode), weight);
}

std::vector<InstructionTime> group_times(const Program& program, std::uint32_t position,
                                         const std::vector<std::vector<double>>& steps) {
  std::vector<InstructionTime> groups;
  std::map<std::string, std::size_t> index;
  std::vector<std::vector<double>> seconds;  // per group and step
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const std::string name = instruction_name(program, program.instructions[i]);
    const auto [found, is_new] = index.emplace(name, groups.size());
    if (is_new) {
      groups.push_back({name, 0, 0, 0});
      seconds.emplace_back(steps.size());
    }
    InstructionTime& group = groups[found->second];
    ++group.count;
    group.bytes += bytes_at(program, program.instructions[i], position);
    for (std::size_t step = 0; step < steps.size(); ++step) {
      seconds[found->second][step] += steps[step][i];
    }
  }
  for (std::size_t i = 0; i < groups.size() && !steps.empty(); ++i) {
    groups[i].seconds = median_of(seconds[i]);
  }
  return groups;
}

}  // namespace

Result<TokenTime> measure_token(Session& session, std::uint32_t position, std::uint32_t runs,
                                std::uint32_t run) {
  using Clock = std::chrono::steady_clock;
  if (position >= session.capacity()) {
    return invalid_argument(
        fmt::format("position {}: the caches have room for {}", position, session.capacity()));
  }
  const std::vector<std::int32_t> tokens(session.rows(), 0);
  std::vector<double> seconds;
  std::vector<std::vector<double>> per_instruction;
  MGTUNE_TRY(session.set_position(position));
  std::uint32_t length = run;
  const std::uint32_t first = session.begin_of_steps(length);
  for (std::uint32_t i = 0; i <= runs; ++i) {
    MGTUNE_TRY(session.set_position(first));
    const Clock::time_point begin = Clock::now();
    MGTUNE_TRY(session.steps(tokens, length));
    const double passed = std::chrono::duration<double>(Clock::now() - begin).count();
    if (i > 0) seconds.push_back(passed / length);
  }
  for (std::uint32_t i = 0; i < std::min(runs, kInstructionRuns); ++i) {
    MGTUNE_TRY(session.set_position(position));
    Result<std::vector<double>> times = session.timed_step(tokens);
    if (times.status().code() == StatusCode::unsupported) break;
    MGTUNE_TRY(times.status());
    per_instruction.push_back(std::move(*times));
  }
  MGTUNE_TRY(session.set_position(position));
  const Program& program = session.program();
  TokenTime result;
  result.position = position;
  result.run = length;
  result.seconds = median_of(seconds);
  result.instructions = group_times(program, position, per_instruction);
  for (const InstructionTime& group : result.instructions) result.bytes += group.bytes;
  return result;
}

}  // namespace mgtune::engine

#include "schedule/waits.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "schedule/dependencies.h"

namespace mgtune::engine {
namespace {

// For each instruction: the last instruction of each other queue that it depends on. A queue runs
// in order, so waits for earlier instructions of these queues and of its own are not needed.
std::vector<std::vector<std::uint32_t>> waits_per_queue(
    const Program& program, const std::vector<std::vector<std::uint32_t>>& needed) {
  std::vector<std::vector<std::uint32_t>> waits(needed.size());
  for (std::uint32_t i = 0; i < needed.size(); ++i) {
    std::vector<std::uint32_t> last(program.queues, kNone);
    for (const std::uint32_t before : needed[i]) last[program.instructions[before].queue] = before;
    last[program.instructions[i].queue] = kNone;
    for (const std::uint32_t before : last) {
      if (before != kNone) waits[i].push_back(before);
    }
  }
  return waits;
}

}  // namespace

void add_waits(Program& program) {
  const std::vector<std::vector<std::uint32_t>> waits =
      waits_per_queue(program, dependencies(program));
  std::vector<std::uint32_t> counter_of(program.instructions.size(), kNone);
  std::vector<Instruction> result;
  for (std::uint32_t i = 0; i < waits.size(); ++i) {
    if (waits[i].size() <= kMaxWaits) {
      for (std::size_t k = 0; k < waits[i].size(); ++k) {
        std::uint32_t& counter = counter_of[waits[i][k]];
        if (counter == kNone) counter = program.counters++;
        program.instructions[i].waits[k] = {counter, 1};
      }
    } else {
      Instruction& barrier = result.emplace_back();
      barrier.queue = program.instructions[i].queue;
    }
    result.push_back(program.instructions[i]);
  }
  // The new barriers have changed the indices of the instructions, so barriers are not counted
  // here.
  std::size_t index = 0;
  for (Instruction& instruction : result) {
    if (instruction.opcode == Opcode::barrier) continue;
    instruction.signal = counter_of[index++];
  }
  program.instructions = std::move(result);
}

}  // namespace mgtune::engine
